//! Takes the steps of ../README.md with redis-rs. Where the argument is redis-cell-rs, single calls are that library's.

use std::error::Error;
use std::time::Duration;
use std::{env, fs, io, process, thread};

use redis::{
    Client, Cmd, Connection, ConnectionAddr, ConnectionInfo, IntoConnectionInfo, ProtocolVersion, RedisResult, Script,
    TlsCertificates,
};
use redis_cell_rs::{Key, Policy, Verdict};

type Outcome = Result<(), Box<dyn Error>>;
type Ask = fn(&mut Connection, &str, usize) -> RedisResult<Vec<i64>>;

const SCRIPT: &str = "return redis.call('cl.throttle',KEYS[1],ARGV[1],ARGV[2],ARGV[3],ARGV[4])";

// The limit of every call: one in a minute, beyond the burst.
const COUNT: usize = 1;
const PERIOD: usize = 60;

/// Seconds that a program may spend, on a busy machine, between calls of one step.
const SLACK: i64 = 5;

fn client() -> Result<Client, Box<dyn Error>> {
    let authority = env::var("CELLSERVER_CA").ok();
    let (host, port) = (env::var("CELLSERVER_HOST")?, env::var("CELLSERVER_PORT")?.parse()?);
    let address = match authority {
        None => ConnectionAddr::Tcp(host, port),
        Some(_) => ConnectionAddr::TcpTls { host, port, insecure: false, tls_params: None },
    };
    let info: ConnectionInfo = address.into_connection_info()?;
    let mut settings = info.redis_settings().clone();
    if let Ok(user) = env::var("CELLSERVER_USER") {
        settings = settings.set_username(user);
    }
    if let Ok(password) = env::var("CELLSERVER_PASSWORD") {
        settings = settings.set_password(password);
    }
    match env::var("CELLSERVER_RESP").as_deref() {
        Ok("2") => settings = settings.set_protocol(ProtocolVersion::RESP2),
        Ok("3") => settings = settings.set_protocol(ProtocolVersion::RESP3),
        _ => {}
    }
    let info = info.set_redis_settings(settings);
    Ok(match authority {
        None => Client::open(info)?,
        Some(path) => Client::build_with_tls(info, TlsCertificates { client_tls: None, root_cert: Some(fs::read(path)?) })?,
    })
}

fn call(key: &str, max_burst: usize) -> Cmd {
    let mut command = redis::cmd("CL.THROTTLE");
    command.arg(key).arg(max_burst).arg(COUNT).arg(PERIOD);
    command
}

fn throttle(connection: &mut Connection, key: &str, max_burst: usize) -> RedisResult<Vec<i64>> {
    call(key, max_burst).query(connection)
}

/// Asks with redis-cell-rs, whose verdict has the five integers under names.
fn verdict(connection: &mut Connection, key: &str, max_burst: usize) -> RedisResult<Vec<i64>> {
    let key = Key::from(key);
    let policy = Policy::new(max_burst, COUNT, Duration::from_secs(PERIOD as u64), 1);
    let command: Cmd = redis_cell_rs::Cmd::new(&key, &policy).into();
    Ok(match command.query(connection)? {
        Verdict::Allowed(d) => vec![0, d.total as i64, d.remaining as i64, -1, d.reset_after as i64],
        Verdict::Blocked(d) => vec![1, d.total as i64, d.remaining as i64, d.retry_after as i64, d.reset_after as i64],
    })
}

fn many(connection: &mut Connection, atomic: bool, key: &str, max_burst: usize, calls: usize) -> Outcome {
    let mut pipeline = redis::pipe();
    if atomic {
        pipeline.atomic();
    }
    for _ in 0..calls {
        pipeline.add_command(call(key, max_burst));
    }
    let replies: Vec<Vec<i64>> = pipeline.query(connection)?;
    if replies.len() != calls {
        return Err(format!("{} replies to {calls} calls", replies.len()).into());
    }
    replies.iter().enumerate().try_for_each(|(i, reply)| compare(reply, max_burst, i))
}

/// Checks the reply to a call after a number of earlier ones. The times may have run for a few seconds.
fn compare(reply: &[i64], max_burst: usize, earlier: usize) -> Outcome {
    let (limit, period, calls) = (max_burst as i64 + 1, PERIOD as i64, earlier as i64 + 1);
    let want = match calls <= limit {
        true => [0, limit, limit - calls, -1, calls * period],
        false => [1, limit, 0, period, limit * period],
    };
    let equal = |i: usize| reply[i] == want[i] || i >= 3 && want[i] > 0 && (want[i] - SLACK..want[i]).contains(&reply[i]);
    if reply.len() != want.len() || !(0..want.len()).all(equal) {
        return Err(format!("reply {reply:?} to call {earlier}, want {want:?}").into());
    }
    Ok(())
}

/// Goes on asking, as an application would, until the restarted server answers.
fn reconnect(client: &Client, mut connection: Connection, ask: Ask) -> Outcome {
    println!("restart");
    io::stdin().read_line(&mut String::new())?;
    let mut reply = ask(&mut connection, "reconnect", 2);
    for _ in 0..50 {
        if reply.is_ok() {
            break;
        }
        thread::sleep(Duration::from_millis(100));
        if let Ok(fresh) = client.get_connection() {
            connection = fresh;
        }
        reply = ask(&mut connection, "reconnect", 2);
    }
    compare(&reply?, 2, 0)
}

fn run(library: &str) -> Outcome {
    let ask: Ask = match library {
        "redis-rs" => throttle,
        "redis-cell-rs" => verdict,
        _ => return Err(format!("no library {library}").into()),
    };
    let client = client()?;
    let mut connection = client.get_connection()?;
    redis::cmd("PING").query::<()>(&mut connection)?;
    println!("ok connect");
    for i in 0..4 {
        compare(&ask(&mut connection, "throttle", 2)?, 2, i)?;
    }
    println!("ok throttle");
    many(&mut connection, false, "pipeline", 999, 1000)?;
    println!("ok pipeline");
    many(&mut connection, true, "transaction", 2, 4)?;
    println!("ok transaction");
    let idiom = Script::new(SCRIPT);
    for i in 0..4 {
        let reply: Vec<i64> = idiom.key("script").arg(2).arg(COUNT).arg(PERIOD).arg(1).invoke(&mut connection)?;
        compare(&reply, 2, i)?;
    }
    println!("ok script");
    reconnect(&client, connection, ask)?;
    println!("ok reconnect");
    Ok(())
}

fn main() {
    if let Err(error) = run(&env::args().nth(1).unwrap_or_default()) {
        eprintln!("{error}");
        process::exit(1);
    }
}

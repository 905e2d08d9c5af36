package server

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cellserver/cellserver/acl"
	"github.com/cellserver/cellserver/engine"
	"github.com/cellserver/cellserver/keyspace"
	"github.com/cellserver/cellserver/netio"
	"github.com/cellserver/cellserver/persistence"
)

// ErrServerClosed is what Serve returns after Shutdown.
var ErrServerClosed = errors.New("server: closed")

// A Server is a set of event loops over one keyspace. New makes one that listens; Serve runs it.
type Server struct {
	settings     atomic.Pointer[Config] // read by config
	setting      sync.Mutex             // whoever changes settings
	log          *logger
	clock        clock
	hasher       keyspace.Hasher
	commands     *commandTable
	throttle     *command // what answers to the name CL.THROTTLE; nil: nothing, since it was renamed
	loops        []*loop
	allShards    []int // the numbers of all of them
	listeners    []net.Listener
	tlsListeners []net.Listener             // of tls-port
	tls          atomic.Pointer[tls.Config] // of new connections to it
	handshakes   netio.Handshakes           // of its clients
	acceptFailed error                      // read when the loops have ended
	socket       os.FileInfo                // of the Unix socket that this server has made; nil: none
	resting      restLog
	acl          *acl.Store
	runID        string // 40 hex digits, as INFO tells it

	slowlog     slowlog
	latency     latencyMonitor
	memory      memoryWatch
	sweepingOff atomic.Bool // by DEBUG SET-ACTIVE-EXPIRE

	scripting   scripting
	loading     loading
	snapshots   *snapshots
	aof         atomic.Pointer[persistence.Log] // nil: there is none
	rewrites    sync.WaitGroup
	logCloses   sync.WaitGroup // of logs that were turned off
	rewriting   rewriteTimes
	keepers     sync.WaitGroup // the goroutines that stand by until the loops have ended
	changes     atomic.Uint64  // of the keyspace, counted now and then
	swaps       atomic.Uint64  // SWAPDB commands
	busy        atomic.Bool    // a script has run for long: see busyPass
	taken       atomic.Bool    // one loop holds shards of others: see exclusively
	nextID      atomic.Int64
	accepted    atomic.Int64
	rejected    atomic.Int64
	closing     atomic.Bool
	savingAtEnd atomic.Int32  // saveByPoints, saveAlways or saveNever
	stopped     chan struct{} // closed when the loops have ended
	ended       chan struct{} // closed when Serve returns

	pubsub       *pubsub
	monitors     atomic.Int64                // connections that monitor
	unsentMemory atomic.Int64                // bytes that output takes which clients have not read: see unsent.go
	pause        atomic.Pointer[clientPause] // what CLIENT PAUSE has set; nil: nothing

	endOnce      sync.Once
	endRequested chan struct{} // closed by SHUTDOWN
}

// New opens the listeners and makes the loops. The configuration must be valid.
func New(config Config) (*Server, error) {
	log, err := newLogger(&config)
	if err != nil {
		return nil, err
	}
	s, err := newWithLog(config, log)
	if err != nil {
		log.fatal(err)
	}
	return s, err
}

// newWithLog makes the server, whose log is there to tell what stands in the way.
func newWithLog(config Config, log *logger) (*Server, error) {
	s := &Server{
		clock:        clock{start: time.Now()},
		log:          log,
		hasher:       keyspace.NewHasher(),
		commands:     newCommandTable(commandRows(&config)),
		runID:        newRunID(),
		stopped:      make(chan struct{}),
		ended:        make(chan struct{}),
		pubsub:       newPubsub(),
		endRequested: make(chan struct{}),
	}
	s.resting.log = log
	s.tellStart(&config)
	s.acl = newACL(s.commands)
	if err := s.loadUsers(&config); err != nil {
		return nil, err
	}
	renames := newRenamer(s.commands, s.acl.Catalogue().Absent())
	if err := renames.rename(config.Renames); err != nil {
		return nil, err
	}
	for _, note := range renames.notes {
		log.notice("%s", note)
	}
	if row := s.commands.byName["cl.throttle"]; row != nil && row.decide != nil {
		s.throttle = row
	}
	if err := s.fitMaxClients(&config); err != nil {
		return nil, err
	}
	s.settings.Store(&config)
	if err := s.listen(); err != nil {
		return nil, err
	}
	setProcessors(config.Shards)
	for i := range config.Shards {
		l, err := s.newLoop(i)
		if err != nil {
			s.closeListeners()
			return nil, err
		}
		s.loops = append(s.loops, l)
		s.allShards = append(s.allShards, i)
	}
	s.scripting = newScripting(s)
	s.snapshots = newSnapshots(s)
	s.loading.active.Store(true)
	s.memory.startup = allocatedBytes()
	s.writePIDFile()
	s.tellInitialized()
	return s, nil
}

func (s *Server) newLoop(index int) (*loop, error) {
	p, err := netio.NewPoller(s.config().IO)
	if err != nil {
		return nil, fmt.Errorf("cannot start event loop %d: %w", index, err)
	}
	return &loop{
		server:   s,
		index:    index,
		loading:  true,
		stats:    newLoopStats(len(s.commands.all)),
		engine:   engine.New(s.hasher),
		poller:   p,
		conns:    make(map[int64]*conn),
		full:     make(connSet),
		behind:   make(connSet),
		monitors: make(connSet),
		inputs:   bufferPool{size: readBytes, most: keptInputs},
		outputs:  bufferPool{size: outputBytes, most: keptOutputs},
	}, nil
}

func newRunID() string {
	var id [20]byte
	_, _ = rand.Read(id[:]) // never fails: crypto/rand ends the program rather
	return hex.EncodeToString(id[:])
}

// Serve accepts connections, runs the loops and loads what is on disk. It returns when the loops have ended and the last
// snapshot is taken: ErrServerClosed after Shutdown, another error where the data can't be loaded.
func (s *Server) Serve() error {
	defer close(s.ended)
	defer s.removePIDFile()
	s.loading.began = time.Now()
	var failed error
	s.keepers.Go(func() {
		if failed = s.bringUp(); failed != nil {
			s.end()
			s.tell((*loop).cut) // nobody has been promised anything
		}
	})
	var running sync.WaitGroup
	for _, l := range s.loops {
		running.Go(l.run)
	}
	running.Wait()
	close(s.stopped)
	for _, l := range s.loops {
		l.poller.Close()
	}
	s.keepers.Wait()
	err := errors.Join(failed, s.acceptFailed, s.closeLog())
	if !s.loading.active.Load() {
		err = errors.Join(err, s.snapshots.atEnd())
	}
	if err != nil {
		s.log.fatal(err)
		return err
	}
	s.log.warning("cellserver is now ready to exit, bye bye...")
	return ErrServerClosed
}

// Shutdown stops accepting, lets every loop finish its pass and write what it owes, closes the connections, and returns
// when Serve has. Once ctx is done it cuts the connections whose peers don't read, and returns the context's error.
func (s *Server) Shutdown(ctx context.Context) error {
	s.end()
	select {
	case <-s.ended:
		return nil
	case <-ctx.Done():
		s.tell((*loop).cut)
		<-s.ended
		return ctx.Err()
	}
}

// end stops accepting and has the loops end.
func (s *Server) end() {
	if !s.closing.Swap(true) {
		s.scripting.runtime.Stop()
		s.closeListeners()
		s.tell((*loop).stop)
	}
}

// tell has every loop do something.
func (s *Server) tell(deliver func(l *loop)) {
	for _, l := range s.loops {
		l.post(&envelope{deliver: deliver})
	}
}

// key names an entry of a database.
func (s *Server) key(db int, bytes []byte) engine.Key {
	return engine.Key{DB: db, Hash: s.hasher.Sum(bytes), Bytes: bytes}
}

// shardOfHash maps the top 16 bits of a hash evenly to the shards; the table inside the shard uses the other bits.
func (s *Server) shardOfHash(hash uint64) int {
	return int(hash >> 48 * uint64(len(s.loops)) >> 16)
}

func (s *Server) shardOfKey(key []byte) int {
	if len(s.loops) == 1 {
		return 0
	}
	return s.shardOfHash(s.hasher.Sum(key))
}

// engineOf returns the engine of a key's shard. The caller must have the shard.
func (s *Server) engineOf(key engine.Key) *engine.Engine {
	return s.loops[s.shardOfHash(key.Hash)].engine
}

// clients returns how many connections there are.
func (s *Server) clients() int {
	total := int64(0)
	for _, l := range s.loops {
		total += l.connections.Load()
	}
	return int(total)
}

// newConn makes a connection for the loop with the fewest, or returns nil, after telling the client so, where there are
// as many as allowed or the client must not connect.
func (s *Server) newConn(t netio.Transport) *conn {
	s.accepted.Add(1)
	if s.clients() >= s.config().MaxClients {
		s.rejected.Add(1)
		t.Refuse("-ERR max number of clients reached\r\n")
		return nil
	}
	if s.protects() && !isLocal(t) {
		s.rejected.Add(1)
		t.Refuse("-" + errProtected + "\r\n")
		return nil
	}
	chosen := s.loops[0]
	for _, l := range s.loops[1:] {
		if l.connections.Load() < chosen.connections.Load() {
			chosen = l
		}
	}
	chosen.connections.Add(1)
	c := &conn{transport: t, loop: chosen, id: s.nextID.Add(1), version: 2, created: s.clock.uptime(), lastUseNs: s.clock.now(), awaits: netio.ForInput}
	s.welcome(c)
	return c
}

// place hands a new connection to its loop.
func (c *conn) place() {
	c.loop.post(&envelope{deliver: func(l *loop) { l.register(c) }})
}

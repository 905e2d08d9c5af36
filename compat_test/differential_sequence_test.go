package compat_test

import (
	"fmt"
	"net"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/cellserver/cellserver/resp"
)

// A sequence is what several connections do in turn.
type sequence struct {
	name      string
	steps     []step
	resp3     bool // every connection begins with HELLO 3
	pipelined bool // what a connection sends in a row goes out at once
}

// A step is one command, or one pause.
type step struct {
	line    string // as written
	conn    string
	words   []string
	raw     string // bytes to send instead of words
	replies int
	want    string // what the reply of Redis has to contain, in RESP2
	pause   time.Duration
}

// untilClosed as number of replies: all until the server closes the connection.
const untilClosed = -1

// A group is a file of sequences. It begins with prose, in which a line may say "options: --name value ...", with which the
// servers are then started anew for each sequence. A line "# name" begins a sequence. Its steps are
//
//	a: SET k {1}               connection a sends a command, quoted as for redis-cli, and gets a reply
//	a: GET k -> $19            and Redis's reply has to contain this, CR LF shown as a space
//	a*3: SUBSCRIBE x y z       and gets three replies
//	a*0: CLIENT REPLY OFF      and gets none
//	a*closed: QUIT             and gets replies until the server closes the connection
//	a!: "PING\r\n"             these very bytes are sent
//	sleep 200ms
//
// In what is sent, {1} to {9} stand for a TAT in the year 2100 and the PXAT that goes with it, {v1} to {v9} for the TAT
// alone, {soon} for a TAT in soon milliseconds with its PXAT, {id:a} for connection a's CLIENT ID, {addr:a} for its address,
// {x*70000} for that many x.
type group struct {
	options   []string
	sequences []sequence
}

func parseGroup(text string) (g group, err error) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		options, isOptions := strings.CutPrefix(line, "options: ")
		name, isName := strings.CutPrefix(line, "# ")
		switch {
		case isName:
			g.sequences = append(g.sequences, sequence{name: name})
		case isOptions && g.sequences == nil:
			if g.options, err = splitWords(options); err != nil {
				return g, err
			}
		case line != "" && g.sequences != nil:
			step, err := parseStep(line)
			if err != nil {
				return g, err
			}
			last := &g.sequences[len(g.sequences)-1]
			last.steps = append(last.steps, step)
		}
	}
	return g, nil
}

var stepPattern = regexp.MustCompile(`^([a-z])(?:\*(\d+|closed))?(!?):(?: (.*?))?(?: -> (.*))?$`)

func parseStep(line string) (s step, err error) {
	s.line = line
	if pause, isPause := strings.CutPrefix(line, "sleep "); isPause {
		s.pause, err = time.ParseDuration(pause)
		return s, err
	}
	parts := stepPattern.FindStringSubmatch(line)
	if parts == nil {
		return s, fmt.Errorf("no step: %q", line)
	}
	s.conn, s.replies, s.want = parts[1], 1, parts[5]
	switch parts[2] {
	case "":
	case "closed":
		s.replies = untilClosed
	default:
		if s.replies, err = strconv.Atoi(parts[2]); err != nil {
			return s, err
		}
	}
	if s.words, err = splitWords(parts[4]); err != nil {
		return s, fmt.Errorf("%w: %q", err, line)
	}
	if parts[3] == "!" {
		s.raw, s.words = strings.Join(s.words, ""), nil
	}
	return s, nil
}

func mustParseSteps(lines ...string) (steps []step) {
	for _, line := range lines {
		step, err := parseStep(line)
		if err != nil {
			panic(err)
		}
		steps = append(steps, step)
	}
	return steps
}

func splitWords(line string) (words []string, err error) {
	split, err := resp.SplitArgs([]byte(line), nil)
	for _, word := range split {
		words = append(words, string(word))
	}
	return words, err
}

// soon is how far in the future the TAT of {soon} is.
const soon = 150 * time.Millisecond

var placeholder = regexp.MustCompile(`\{(v?[1-9]|soon|id:[a-z]|addr:[a-z]|.\*\d+)\}`)

// farSeconds is the start of the year 2100.
const farSeconds = 4_102_444_800

// farTAT is a TAT, and the time in milliseconds at which a key that has it expires.
func farTAT(number int) (nanos, expiryMillis string) {
	seconds := farSeconds + number*1000
	return fmt.Sprintf("%d%09d", seconds, number), fmt.Sprintf("%d001", seconds)
}

// bytes is what the step sends to one of the servers.
func (s step) bytes(p *session) string {
	if s.words == nil {
		return fill(s.raw, p)[0]
	}
	var words []string
	for _, word := range s.words {
		words = append(words, fill(word, p)...)
	}
	return encode(words...)
}

// fill puts values in the place of placeholders. A placeholder that is a word of its own can become several words.
func fill(word string, p *session) []string {
	if word == "{soon}" {
		millis := time.Now().Add(soon).UnixMilli()
		return []string{fmt.Sprintf("%d000000", millis), "PXAT", fmt.Sprint(millis)}
	}
	if len(word) == len("{1}") && placeholder.MatchString(word) {
		nanos, millis := farTAT(int(word[1] - '0'))
		return []string{nanos, "PXAT", millis}
	}
	return []string{placeholder.ReplaceAllStringFunc(word, func(found string) string {
		name := strings.Trim(found, "{}")
		letter, count, isRepetition := strings.Cut(name, "*")
		switch {
		case isRepetition:
			n, err := strconv.Atoi(count)
			if err != nil {
				panic(err)
			}
			return strings.Repeat(letter, n)
		case strings.HasPrefix(name, "v"):
			nanos, _ := farTAT(int(name[1] - '0'))
			return nanos
		case strings.HasPrefix(name, "id:") && p.conns[name[3:]] != nil:
			return p.conns[name[3:]].id
		case strings.HasPrefix(name, "addr:") && p.conns[name[5:]] != nil:
			return p.conns[name[5:]].LocalAddr().(*net.TCPAddr).String()
		}
		return found
	})}
}

// needsID says whether some step speaks of a connection's number.
func (s sequence) needsID(conn string) bool {
	for _, step := range s.steps {
		if strings.Contains(step.line, "{id:"+conn+"}") {
			return true
		}
	}
	return false
}

// surprises are the steps whose reply of Redis is not what the sequence expects, and those that Redis does not answer.
func (s sequence) surprises(redis []outcome) (surprises []string) {
	for i, step := range s.steps {
		got := redis[i].String()
		if redis[i].err != nil || step.want != "" && !s.resp3 && !strings.Contains(got, step.want) {
			surprises = append(surprises, fmt.Sprintf("%s\n\tredis says %s", step.line, got))
		}
	}
	for _, rest := range redis[len(s.steps):] {
		if rest.err != nil || rest.String() != "" {
			surprises = append(surprises, fmt.Sprintf("in the end\n\tredis says %s", rest))
		}
	}
	return surprises
}

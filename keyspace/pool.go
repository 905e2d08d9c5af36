package keyspace

// A pool hands out blocks of one type and takes them back. Rebuilding a segment returns about as many blocks as it
// takes, so a table makes no garbage: what it holds is what it uses, whatever GOGC allows. What a shrinking table gives
// back beyond a small reserve is left to the collector.
type pool[Block any] struct {
	free []*Block
	used int // blocks handed out
}

const (
	// poolReserve is kept by any table: the blocks of a rebuild of a segment of short keys.
	poolReserve = 32
	// One block in poolShare of those in use is kept too: the rebuild of a segment of long keys takes a thousand.
	poolShare = 16
)

// take returns a block with arbitrary content.
func (p *pool[Block]) take() *Block {
	p.used++
	if last := len(p.free) - 1; last >= 0 {
		b := p.free[last]
		p.free[last] = nil
		p.free = p.free[:last]
		return b
	}
	return new(Block)
}

// give takes back blocks that nothing refers to any more, and drops the references to them.
func (p *pool[Block]) give(blocks []*Block) {
	p.used -= len(blocks)
	p.free = append(p.free, blocks...)
	clear(blocks)
	if keep := poolReserve + p.used/poolShare; len(p.free) > keep {
		clear(p.free[keep:])
		p.free = p.free[:keep]
	}
}

// held returns the number of blocks in use or in reserve.
func (p *pool[Block]) held() int { return p.used + len(p.free) }

package persistence

import (
	"errors"
	"fmt"
	"syscall"
	"testing"

	"github.com/cellserver/cellserver/internal/vfs"
)

// saveSnapshot writes a snapshot of one entry.
func saveSnapshot(disk *vfs.Disk, tat int64) error {
	s, err := NewSnapshot(disk, "dump.rdb", RDBHeader{ClockNanos: now})
	if err != nil {
		return err
	}
	if err := s.Write(2, AppendEntry(nil, []byte("k"), tat)); err != nil {
		s.Abort()
		return err
	}
	return s.Finish()
}

// TestSnapshotIsWhole crashes and fails at every operation of a snapshot: there is the old one or the new one, and after
// success only the new one.
func TestSnapshotIsWhole(t *testing.T) {
	for seed := range uint64(200) {
		disk := vfs.NewDisk(seed)
		must(t, saveSnapshot(disk, later))
		left := int(seed % 10)
		disk.FailWith(func(vfs.Operation) error {
			if left--; left < 0 {
				return syscall.EIO
			}
			return nil
		})
		err := saveSnapshot(disk, later+1)
		if err != nil && !errors.Is(err, syscall.EIO) || err == nil && seed%10 < 4 {
			t.Fatal(err)
		}
		disk.FailWith(nil)
		disk.Crash()
		got := newState()
		loaded, loadErr := LoadSnapshot(disk, "dump.rdb", loadOptions, got)
		must(t, loadErr)
		tat := got.tats[place{2, "k"}]
		if loaded.ClockNanos != now || len(got.tats) != 1 || tat != later+1 && (tat != later || err == nil) {
			t.Fatalf("seed %d: %v after %v", seed, got.tats, err)
		}
	}
}

func TestDamagedSnapshotIsRefused(t *testing.T) {
	disk := vfs.NewDisk(1)
	content := rdbFile(10, "\x00\x01k\x131999999999999999999")
	content[len(content)-1] ^= 1
	putFile(t, disk, ".", "dump.rdb", string(content))
	var damage *DamageError
	_, err := LoadSnapshot(disk, "dump.rdb", loadOptions, newState())
	if !errors.As(err, &damage) || damage.File != "dump.rdb" || damage.Offset != int64(len(content)) {
		t.Error(err)
	}
	if want := fmt.Sprintf("dump.rdb is damaged at offset %d: the checksum is", len(content)); err.Error()[:len(want)] != want {
		t.Error(err)
	}
}

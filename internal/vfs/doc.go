// Package vfs is the little of a file system that persistence needs, twice: [OS], and [Disk], which is in memory and can do
// to a program what real disks do.
//
// What a file system promises, and all that may be relied on, is this. Bytes written are on disk once Sync of the file has
// succeeded; until then a crash may leave all, none or any part of them, in any order, and zeros where the file grew before its
// bytes came. After a Sync that failed they may never get there, though they can still be read, and though the next Sync
// succeeds. A name given, taken away or changed is on disk once SyncDir of its folder has succeeded; until then a crash may
// undo any of these operations, each as a whole. Rename replaces what had the new name.
//
// [Replacement], and [Replace] and its relatives on top of it, are the one way in which a file takes another's place.
//
// A Disk does all of that at random, from a seed. Besides, its operations can be made to fail, and it can be full.
package vfs

// Package cores tells how many processors' worth of time this process may use.
//
// A container with a CPU limit sees all processors of its machine. The limit is a quota of time in a period that the kernel
// enforces for a control group: a process that spreads over more processors than that uses the quota up early and stands still
// for the rest of each period. The limit that counts is the least of those of the process's group and the groups around it.
//
// Control groups come in two versions, which machines may have at once:
//
//	                     version 1                            version 2
//	/proc/self/cgroup    4:cpu,cpuacct:/a/b                   0::/a/b
//	the limit            cpu.cfs_quota_us (-1: none)          cpu.max: "max 100000", "50000 100000"
//	                     and cpu.cfs_period_us
//
// /proc/self/mountinfo says where the groups' folders are, and which group stands at the top: a container often sees its own one
// there.
package cores

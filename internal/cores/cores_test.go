package cores

import (
	"math"
	"runtime"
	"testing"
	"testing/fstest"
)

const (
	mount2  = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
	mount1  = "36 25 0:32 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
	others1 = "37 25 0:33 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n38 25 0:34 / /proc rw - proc proc rw\n"
)

var none = math.Inf(1)

// TestQuota: the least limit of the group and those around it counts, in both versions, wherever they are mounted.
func TestQuota(t *testing.T) {
	rows := []struct {
		name          string
		cgroup, mount string
		files         map[string]string
		want          float64
	}{
		{"no control groups", "", "", nil, none},
		{"no mount", "0::/a\n", "", nil, none},
		{"no file", "0::/a\n", mount2, nil, none},
		{"no limit", "0::/a\n", mount2, map[string]string{"sys/fs/cgroup/a/cpu.max": "max 100000\n"}, none},
		{"two", "0::/a\n", mount2, map[string]string{"sys/fs/cgroup/a/cpu.max": "200000 100000\n"}, 2},
		{"half", "0::/a\n", mount2, map[string]string{"sys/fs/cgroup/a/cpu.max": "50000 100000\n"}, 0.5},
		{"one and a half of a short period", "0::/a\n", mount2, map[string]string{"sys/fs/cgroup/a/cpu.max": "15000 10000\n"}, 1.5},
		{"a namespace of its own", "0::/\n", mount2, map[string]string{"sys/fs/cgroup/cpu.max": "300000 100000\n"}, 3},
		{"the pod's limit around the container's", "0::/pod/c\n", mount2, map[string]string{
			"sys/fs/cgroup/pod/c/cpu.max": "400000 100000", "sys/fs/cgroup/pod/cpu.max": "100000 100000"}, 1},
		{"the container's limit below the pod's", "0::/pod/c\n", mount2, map[string]string{
			"sys/fs/cgroup/pod/c/cpu.max": "100000 100000", "sys/fs/cgroup/pod/cpu.max": "400000 100000"}, 1},
		{"the pod's limit alone", "0::/pod/c\n", mount2, map[string]string{
			"sys/fs/cgroup/pod/c/cpu.max": "max 100000", "sys/fs/cgroup/pod/cpu.max": "250000 100000"}, 2.5},
		{"another's limit", "0::/a\n", mount2, map[string]string{"sys/fs/cgroup/ab/cpu.max": "100000 100000"}, none},
		{"outside the namespace", "0::/../b\n", mount2, map[string]string{"sys/fs/cgroup/cpu.max": "100000 100000"}, none},
		{"a name that begins with dots", "0::/..b\n", mount2, map[string]string{"sys/fs/cgroup/..b/cpu.max": "100000 100000"}, 1},
		{"an odd file", "0::/a\n", mount2, map[string]string{"sys/fs/cgroup/a/cpu.max": "100000"}, none},
		{"an empty period", "0::/a\n", mount2, map[string]string{"sys/fs/cgroup/a/cpu.max": "100000 0"}, none},
		{"a part of the tree", "0::/docker/c/d\n", "30 23 0:26 /docker/c /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", map[string]string{
			"sys/fs/cgroup/d/cpu.max": "max 100000", "sys/fs/cgroup/cpu.max": "200000 100000"}, 2},
		{"another part of the tree", "0::/docker/c\n", "30 23 0:26 /docker/cc /other rw - cgroup2 cgroup2 rw\n", map[string]string{
			"other/cpu.max": "200000 100000"}, none},
		{"a blank in the folder's name", "0::/a\n", `30 23 0:26 / /my\040groups rw - cgroup2 cgroup2 rw`, map[string]string{
			"my groups/a/cpu.max": "200000 100000"}, 2},

		{"version 1 without a limit", "4:cpuacct,cpu:/a\n", others1 + mount1, map[string]string{
			"sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us": "-1\n", "sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us": "100000\n"}, none},
		{"version 1", "5:cpuset:/b\n4:cpuacct,cpu:/a\n", others1 + mount1, map[string]string{
			"sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us": "150000\n", "sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us": "100000\n"}, 1.5},
		{"version 1, the limit around it", "4:cpu,cpuacct:/a/b/c\n", mount1, map[string]string{
			"sys/fs/cgroup/cpu,cpuacct/a/b/c/cpu.cfs_quota_us": "-1", "sys/fs/cgroup/cpu,cpuacct/a/b/c/cpu.cfs_period_us": "100000",
			"sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us": "50000", "sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us": "50000"}, 1},
		{"version 1 in a container that sees the machine's names", "4:cpu:/docker/c\n",
			"36 25 0:32 /docker/c /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n", map[string]string{
				"sys/fs/cgroup/cpu/cpu.cfs_quota_us": "100000", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000"}, 1},
		{"version 2 beside a version 1 that limits", "1:cpu:/a\n0::/a\n", "31 25 0:31 / /unified rw - cgroup2 cgroup2 rw\n" + mount1,
			map[string]string{"sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us": "100000", "sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us": "100000"}, 1},
		{"version 2 that limits beside a version 1", "1:name=systemd:/a\n0::/a\n", "31 25 0:31 / /unified rw - cgroup2 cgroup2 rw\n" + others1,
			map[string]string{"unified/a/cpu.max": "200000 100000"}, 2},
		{"rubbish", "0:\n::\nx\n", "a b\n - \n1 2 3 4 5 - cgroup2\n", nil, none},
	}
	for _, row := range rows {
		files := fstest.MapFS{
			"proc/self/cgroup":    {Data: []byte(row.cgroup)},
			"proc/self/mountinfo": {Data: []byte(row.mount)},
		}
		for name, content := range row.files {
			files[name] = &fstest.MapFile{Data: []byte(content)}
		}
		if got := quota(files); got != row.want {
			t.Errorf("%s: %v, not %v", row.name, got, row.want)
		}
	}
	if got := quota(fstest.MapFS{}); got != none {
		t.Errorf("without /proc: %v", got)
	}
}

// TestAvailable: there are some, and no more than the machine has.
func TestAvailable(t *testing.T) {
	if got := Available(); !(got > 0 && got <= float64(runtime.NumCPU())) {
		t.Errorf("%v of %d", got, runtime.NumCPU())
	}
}

package cores

import (
	"io/fs"
	"math"
	"os"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Available returns how many processors this process may keep busy; 1.5 are one and half of another. It is as it was at the
// first call.
var Available = sync.OnceValue(func() float64 {
	return min(float64(runtime.NumCPU()), quota(os.DirFS("/")))
})

// quota returns the least limit of the process's control groups, in processors, infinity where there is none. What can't be read
// does not limit.
func quota(root fs.FS) float64 {
	least := math.Inf(1)
	group1, group2 := groups(root)
	for line := range lines(root, "proc/self/mountinfo") {
		m, ok := parseMount(line)
		if !ok {
			continue
		}
		group, limit := group2, limit2
		if m.version == 1 {
			group, limit = group1, limit1
		}
		below, shown := m.below(group)
		for ; shown; below = path.Dir(below) {
			least = min(least, limit(root, path.Join(m.folder, below)))
			shown = below != "/"
		}
	}
	return least
}

// groups returns the names of the process's groups that bound processor time in each version; empty: there is none.
func groups(root fs.FS) (version1, version2 string) {
	for line := range lines(root, "proc/self/cgroup") {
		parts := strings.SplitN(line, ":", 3)
		switch {
		case len(parts) < 3:
		case parts[0] == "0" && parts[1] == "":
			version2 = parts[2]
		case slices.Contains(strings.Split(parts[1], ","), "cpu"):
			version1 = parts[2]
		}
	}
	return version1, version2
}

// A mount is a folder that shows control groups as folders.
type mount struct {
	version int
	top     string // the group that the folder itself is
	folder  string
}

// parseMount reads a line of mountinfo:
//
//	36 25 0:32 /top /folder rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct
//
// ok says whether groups that bound processor time can be there.
func parseMount(line string) (m mount, ok bool) {
	before, after, _ := strings.Cut(line, " - ")
	place, kind := strings.Fields(before), strings.Fields(after)
	if len(place) < 5 || len(kind) < 3 {
		return m, false
	}
	m.top, m.folder = unescape.Replace(place[3]), unescape.Replace(place[4])
	switch kind[0] {
	case "cgroup":
		m.version = 1
		return m, slices.Contains(strings.Split(kind[2], ","), "cpu")
	case "cgroup2":
		m.version = 2
		return m, true
	}
	return m, false
}

// unescape undoes what mountinfo does to names.
var unescape = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

// below returns a group's folder, from that of the mount, "/", on. A group that is not under the mount's own is not shown, nor
// is one outside the process's namespace, whose name begins with "/..".
func (m mount) below(group string) (folder string, shown bool) {
	if group == "" || group == "/.." || strings.HasPrefix(group, "/../") {
		return "", false
	}
	rest, under := strings.CutPrefix(group, strings.TrimSuffix(m.top, "/"))
	return path.Clean("/" + rest), under && (rest == "" || rest[0] == '/')
}

// limit1 returns the limit of one group of version 1.
func limit1(root fs.FS, folder string) float64 {
	return processors(read(root, folder+"/cpu.cfs_quota_us"), read(root, folder+"/cpu.cfs_period_us"))
}

// limit2 returns the limit of one group of version 2.
func limit2(root fs.FS, folder string) float64 {
	quota, period, _ := strings.Cut(read(root, folder+"/cpu.max"), " ")
	return processors(quota, period)
}

// processors returns how many processors a quota is in a period, both in microseconds. What is no positive number, as "max" and
// "-1", is no limit.
func processors(quota, period string) float64 {
	q, quotaErr := strconv.ParseUint(quota, 10, 63)
	p, periodErr := strconv.ParseUint(period, 10, 63)
	if quotaErr != nil || periodErr != nil || q == 0 || p == 0 {
		return math.Inf(1)
	}
	return float64(q) / float64(p)
}

// lines returns the lines of a file, or nothing.
func lines(root fs.FS, name string) func(yield func(string) bool) {
	return strings.SplitSeq(read(root, name), "\n")
}

// read returns a file's text without the white space around it, or nothing. name may begin with a slash.
func read(root fs.FS, name string) string {
	content, err := fs.ReadFile(root, strings.TrimPrefix(path.Clean(name), "/"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(content))
}

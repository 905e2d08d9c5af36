package config

import (
	"os"
	"strings"
	"testing"
)

// TestCellserverConf: cellserver.conf has all directives that take effect, with their defaults, and no other.
func TestCellserverConf(t *testing.T) {
	const path = "../cellserver.conf"
	c, defaults := Default(), Default()
	if err := c.Load([]string{path}, nil); err != nil {
		t.Fatal(err)
	}
	if different := changed(&defaults, &c); len(different) > 0 {
		t.Errorf("other values than the defaults: %v", different)
	}
	if len(c.Notes) > 0 {
		t.Error(c.Notes)
	}
	for i := range directives {
		d := &directives[i]
		if effective := d.field != nil && !d.hidden; c.Given(d.name) != effective {
			t.Errorf("%s: documented: %v, takes effect: %v", d.name, c.Given(d.name), effective)
		}
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	commented := false
	for number, line := range strings.Split(string(content), "\n") {
		switch {
		case strings.HasPrefix(line, "# "):
			commented = true
		case line == "":
			commented = false
		case !strings.HasPrefix(line, "#") && !commented:
			t.Errorf("line %d has no comment: %s", number+1, line)
		}
	}
}

package tidy

import (
	"os"
	"testing"
)

// TestRepository holds the repository to the rules.
func TestRepository(t *testing.T) {
	findings, err := Check(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range rules {
		t.Run(rule.name, func(t *testing.T) {
			for _, finding := range findings {
				if finding.Rule == rule.name {
					t.Error(finding)
				}
			}
		})
	}
}

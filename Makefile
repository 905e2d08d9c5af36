# Shortcuts. All but compare need Go alone; ci installs what it needs (Debian, as root).

FUZZTIME ?= 1000000x

.PHONY: build test race fuzz bench compare lint ci

build:
	go build ./...

test:
	go test ./...

race:
	go test -race ./...

fuzz:
	FUZZTIME=$(FUZZTIME) .ci/run fuzz

bench:
	go test -run '^$$' -bench . ./...

compare:
	go run ./bench/compare

lint:
	.ci/run format vet staticcheck

ci:
	.ci/run

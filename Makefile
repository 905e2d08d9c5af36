# Shortcuts. All but compare, durability, bystander and clients need Go alone; ci installs what it needs (Debian, as root).

FUZZTIME ?= 1000000x

.PHONY: build test race fuzz bench compare durability bystander clients lint ci

# Without cgo the binary is static, so that it runs in a container that has nothing else. Go would link libc for looking up the
# names of hosts, which it can do by itself.
build:
	CGO_ENABLED=0 go build ./cmd/cellserver

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

durability:
	go run ./bench/compare persistence
	go run ./bench/compare load
	go run ./bench/compare load -keys 10000000 -rounds 1
	go run ./bench/compare snapshot -rounds 3

bystander:
	go run ./bench/compare bystander

clients:
	compat_test/clients/install
	CELLSERVER_HEAVY=1 go test -count=1 -run TestClient ./compat_test

lint:
	.ci/run format vet staticcheck

ci:
	.ci/run

// Package realredis is for tests that compare with Redis itself: it finds Redis's programs and starts its server.
//
// A machine that has only Go has no Redis. There such a test is skipped, with the reason; CELLSERVER_REQUIRE_TOOLS=1, which CI
// sets, makes that a failure, so that nothing is skipped unnoticed.
package realredis

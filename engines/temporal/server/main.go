// A Temporal server for tests: all services in one process, SQLite in memory, on a free port of the loopback interface.
// It prints where it listens as one line of JSON, and ends when its standard input does.
package main

import (
	"encoding/json"
	"io"
	"os"

	"go.temporal.io/server/temporaltest"
)

func main() {
	server := temporaltest.NewServer()
	line := map[string]string{"address": server.GetFrontendHostPort(), "namespace": server.GetDefaultNamespace()}
	if err := json.NewEncoder(os.Stdout).Encode(line); err != nil {
		panic(err)
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
}

package wire_test

import (
	"fmt"

	"github.com/dezren39/mcpx/pkg/wire"
)

// A request gets another id on its way to the server, and keeps its bytes.
func ExampleScan() {
	env, err := wire.Scan([]byte(`{"id":"a","method":"tools/call","params":{ "name":"ls", "arguments":{"n":1.0} }}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(env.Text(env.Name))
	fmt.Printf("%s", env.Append(nil, wire.Edit{At: env.ID, With: []byte("7")}))
	// Output:
	// ls
	// {"id":7,"method":"tools/call","params":{ "name":"ls", "arguments":{"n":1.0} }}
}

// A line that two decoders could read differently is refused.
func ExampleScanError() {
	_, err := wire.Scan([]byte(`{"id":1,"method":"tools/call","params":{"name":"ls","Name":"rm"}}`))
	fmt.Println(err)
	// Output:
	// another spelling of "name"
}

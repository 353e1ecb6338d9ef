// Runs one case of grpc-go's interoperability tests with a server, without TLS.
//
// The cases are those of the published package google.golang.org/grpc/interop. Its own command imports xDS and the
// credentials of clouds as well, which no case here needs: it took 96 s of processor time to compile, and this one takes
// 6 s after the SDK drivers.
package main

import (
	"context"
	"flag"
	"log"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/interop"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"
)

var ofTestService = map[string]func(context.Context, testgrpc.TestServiceClient, ...grpc.CallOption){
	"empty_unary":                 interop.DoEmptyUnaryCall,
	"large_unary":                 interop.DoLargeUnaryCall,
	"client_streaming":            interop.DoClientStreaming,
	"server_streaming":            interop.DoServerStreaming,
	"ping_pong":                   interop.DoPingPong,
	"empty_stream":                interop.DoEmptyStream,
	"custom_metadata":             interop.DoCustomMetadata,
	"status_code_and_message":     interop.DoStatusCodeAndMessage,
	"special_status_message":      interop.DoSpecialStatusMessage,
	"cancel_after_begin":          interop.DoCancelAfterBegin,
	"cancel_after_first_response": interop.DoCancelAfterFirstResponse,
	"timeout_on_sleeping_server":  interop.DoTimeoutOnSleepingServer,
}

func main() {
	server := flag.String("server", "", "host and port of the server")
	name := flag.String("case", "", "name of the case, as in grpc's doc/interop-test-descriptions.md")
	flag.Parse()
	connection, err := grpc.NewClient("dns:///"+*server, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		log.Fatal(err)
	}
	defer connection.Close()
	// A case that fails ends the process with exit code 1.
	switch *name {
	case "unimplemented_method":
		interop.DoUnimplementedMethod(context.Background(), connection)
	case "unimplemented_service":
		interop.DoUnimplementedService(context.Background(), testgrpc.NewUnimplementedServiceClient(connection))
	default:
		run, known := ofTestService[*name]
		if !known {
			log.Fatalf("case=%s: there is no such case", *name)
		}
		run(context.Background(), testgrpc.NewTestServiceClient(connection))
	}
}

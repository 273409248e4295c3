// Command controlplane is the Kubernetes control plane that Quotree's tests run against, as one binary.
//
// The first argument, or the name that the binary is called by, says which program it is. The Kubernetes and etcd
// programs are the published ones, unchanged; "quantity" answers how Kubernetes reads a resource quantity.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"gopkg.in/inf.v0"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register" // --logging-format=json
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
)

// programs takes a name to what runs it. Each returns the exit code and finds its own arguments in os.Args[1:].
var programs = map[string]func() int{
	"etcd":                    runEtcd,
	"kube-apiserver":          func() int { return cli.Run(apiserver.NewAPIServerCommand()) },
	"kube-controller-manager": func() int { return cli.Run(controllermanager.NewControllerManagerCommand()) },
	"kubectl":                 func() int { return runKubectl(kubectl.NewDefaultKubectlCommand()) },
	"quantity":                runQuantity,
}

func main() {
	name := filepath.Base(os.Args[0])
	if _, known := programs[name]; !known && len(os.Args) > 1 {
		os.Args = os.Args[1:]
		name = os.Args[0]
	}
	program, known := programs[name]
	if !known {
		fmt.Fprintln(os.Stderr, "usage: controlplane etcd|kube-apiserver|kube-controller-manager|kubectl|quantity [argument ...]")
		os.Exit(2)
	}
	os.Exit(program())
}

func runEtcd() int {
	etcdmain.Main(os.Args) // ends the process itself where it fails
	return 0
}

func runKubectl(command *cobra.Command) int {
	if err := cli.RunNoErrOutput(command); err != nil {
		kubectlutil.CheckErr(err) // prints it the way kubectl does, and exits
	}
	return 0
}

// answer is one line of output; the numbers are texts, because JSON readers lose digits of large ones.
type answer struct {
	OK        bool   `json:"ok"`
	Error     string `json:"error,omitempty"`
	Canonical string `json:"canonical,omitempty"`
	Printed   string `json:"printed,omitempty"` // String(): keeps a spelling such as "+1" that Canonical does not
	Value     string `json:"value,omitempty"`
	Milli     string `json:"milli,omitempty"`
	ExactNano string `json:"exactNano,omitempty"`
	Sign      *int   `json:"sign,omitempty"`
}

// runQuantity reads one JSON value per line: a string is parsed, an array of two strings is parsed and added.
// One answer per line, written at once, so that a test can ask and wait.
func runQuantity() int {
	in, out := bufio.NewReader(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 0 {
			if failed := out.Encode(judge(line)); failed != nil {
				fmt.Fprintln(os.Stderr, "quantity:", failed)
				return 1
			}
		}
		if errors.Is(err, io.EOF) {
			return 0
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "quantity:", err)
			return 1
		}
	}
}

// judge answers one line. A panic of the library is an answer too: the next line must still be read.
func judge(line []byte) (result answer) {
	defer func() {
		if fault := recover(); fault != nil {
			result = answer{Error: fmt.Sprint("panic: ", fault)}
		}
	}()
	texts, err := questions(line)
	if err != nil {
		return answer{Error: err.Error()}
	}
	var total resource.Quantity
	for i, text := range texts {
		parsed, err := resource.ParseQuantity(text)
		if err != nil {
			return answer{Error: err.Error()}
		}
		if i == 0 {
			total = parsed
		} else {
			total.Add(parsed)
		}
	}
	return describe(total)
}

// questions reads a line: the one text of a JSON string, or both of an array of two.
func questions(line []byte) ([]string, error) {
	var one *string // nil after a JSON null, which is no text
	if err := json.Unmarshal(line, &one); err == nil && one != nil {
		return []string{*one}, nil
	}
	var many []*string
	if err := json.Unmarshal(line, &many); err != nil || len(many) != 2 || many[0] == nil || many[1] == nil {
		return nil, errors.New("not a line of this protocol: want a JSON string or an array of two")
	}
	return []string{*many[0], *many[1]}, nil
}

func describe(quantity resource.Quantity) answer {
	sign := quantity.Sign()
	number, suffix := quantity.CanonicalizeBytes(nil)
	return answer{
		OK:        true,
		Canonical: string(number) + string(suffix),
		Printed:   quantity.String(),
		Value:     strconv.FormatInt(quantity.Value(), 10),
		Milli:     strconv.FormatInt(quantity.MilliValue(), 10),
		ExactNano: exactNano(quantity),
		Sign:      &sign,
	}
}

// exactNano is the quantity in units of 1e-9 as a decimal integer; parsing has already rounded up to whole ones.
func exactNano(quantity resource.Quantity) string {
	copied := quantity.DeepCopy() // AsDec changes how its receiver is held
	nano := new(inf.Dec).Mul(copied.AsDec(), inf.NewDec(1_000_000_000, 0))
	whole := new(inf.Dec).Round(nano, 0, inf.RoundExact)
	if whole == nil {
		panic("finer than nano: " + nano.String())
	}
	return whole.String()
}

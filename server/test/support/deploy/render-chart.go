// Renders templates with the engine and the functions of Helm: Go's text/template and sprig. Needs Debian's golang-go
// and golang-github-masterminds-sprig-dev. From standard input: {"templates": {path: text}, "releases": [data, …]}.
package main

import (
	"bytes"
	"encoding/json"
	"os"
	"text/template"

	"github.com/Masterminds/sprig"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	var given struct {
		Templates map[string]string
		Releases  []map[string]interface{}
	}
	decoder := json.NewDecoder(os.Stdin)
	decoder.UseNumber()
	check(decoder.Decode(&given))
	all := template.New("chart").Funcs(sprig.TxtFuncMap()).Option("missingkey=error")
	all.Funcs(template.FuncMap{
		"include": func(name string, data interface{}) (string, error) {
			var text bytes.Buffer
			err := all.ExecuteTemplate(&text, name, data)
			return text.String(), err
		},
		// JSON is YAML.
		"toYaml": func(value interface{}) (string, error) {
			text, err := json.Marshal(value)
			return string(text), err
		},
	})
	for path, text := range given.Templates {
		_, err := all.New(path).Parse(text)
		check(err)
	}
	rendered := []map[string]string{}
	for _, release := range given.Releases {
		texts := map[string]string{}
		for path := range given.Templates {
			var text bytes.Buffer
			check(all.ExecuteTemplate(&text, path, release))
			texts[path] = text.String()
		}
		rendered = append(rendered, texts)
	}
	check(json.NewEncoder(os.Stdout).Encode(rendered))
}

package config

import (
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

// assign sets a field of Config from the text of its value. The text comes from the directive's kind, so it is valid.
func assign(field any, text string) {
	switch f := field.(type) {
	case *bool:
		*f = text == "yes"
	case *int:
		*f = int(integerOf(text))
	case *int64:
		*f = integerOf(text)
	case *string:
		*f = text
	case *[]string:
		*f = strings.Fields(text)
	case *fs.FileMode:
		mode, err := strconv.ParseUint(text, 8, 32)
		mustParse(text, err)
		*f = fs.FileMode(mode)
	case *[]SavePoint:
		*f = nil
		for words := strings.Fields(text); len(words) > 0; words = words[2:] {
			*f = append(*f, SavePoint{Seconds: integerOf(words[0]), Changes: integerOf(words[1])})
		}
	case *OutputLimits:
		words := strings.Fields(text)
		for i, limit := range f.all() {
			*limit = OutputLimit{integerOf(words[4*i+1]), integerOf(words[4*i+2]), integerOf(words[4*i+3])}
		}
	case *[]float64:
		*f = nil
		for word := range strings.FieldsSeq(text) {
			number, err := strconv.ParseFloat(word, 64)
			mustParse(text, err)
			*f = append(*f, number)
		}
	default:
		panic(fmt.Sprintf("config: a field of type %T", field))
	}
}

// textOf is the inverse of assign.
func textOf(field any) string {
	switch f := field.(type) {
	case *bool:
		if *f {
			return "yes"
		}
		return "no"
	case *int:
		return strconv.Itoa(*f)
	case *int64:
		return strconv.FormatInt(*f, 10)
	case *string:
		return *f
	case *[]string:
		return strings.Join(*f, " ")
	case *fs.FileMode:
		return strconv.FormatUint(uint64(*f), 8)
	case *[]SavePoint:
		var words []string
		for _, point := range *f {
			words = append(words, fmt.Sprint(point.Seconds, point.Changes))
		}
		return strings.Join(words, " ")
	case *OutputLimits:
		var words []string
		for i, limit := range f.all() {
			words = append(words, fmt.Sprint(outputClasses[i], " ", limit.HardBytes, limit.SoftBytes, limit.SoftSeconds))
		}
		return strings.Join(words, " ")
	case *[]float64:
		var words []string
		for _, number := range *f {
			words = append(words, strconv.FormatFloat(number, 'f', -1, 64))
		}
		return strings.Join(words, " ")
	}
	panic(fmt.Sprintf("config: a field of type %T", field))
}

func (l *OutputLimits) all() [3]*OutputLimit {
	return [3]*OutputLimit{&l.Normal, &l.Replica, &l.PubSub}
}

func integerOf(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	mustParse(text, err)
	return n
}

func mustParse(text string, err error) {
	if err != nil {
		panic(fmt.Sprintf("config: the table's kind let %q pass: %v", text, err))
	}
}

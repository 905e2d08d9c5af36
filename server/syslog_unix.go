//go:build unix

package server

import "log/syslog"

var syslogFacilities = map[string]syslog.Priority{
	"user": syslog.LOG_USER, "local0": syslog.LOG_LOCAL0, "local1": syslog.LOG_LOCAL1, "local2": syslog.LOG_LOCAL2, "local3": syslog.LOG_LOCAL3,
	"local4": syslog.LOG_LOCAL4, "local5": syslog.LOG_LOCAL5, "local6": syslog.LOG_LOCAL6, "local7": syslog.LOG_LOCAL7,
}

// openSyslog returns what writes a line to the system's log, under the priority that Redis gives its level.
func openSyslog(facility, ident string) (systemLog, error) {
	w, err := syslog.New(syslogFacilities[facility]|syslog.LOG_NOTICE, ident)
	if err != nil {
		return nil, err
	}
	return func(level logLevel, text string) {
		write := [...]func(string) error{logDebug: w.Debug, logVerbose: w.Info, logNotice: w.Notice, logWarning: w.Warning}[level]
		_ = write(text) // the line is in the server's own log too
	}, nil
}

package server

// A runner is the goroutine that scripts run on. It stays from one to the next: a new one would first have to grow its stack to
// what the Lua machine needs, which takes longer than most scripts.
type runner struct {
	jobs chan func()     // nil: there is no goroutine
	done chan struct{}   // has a value when the last job has ended
	end  <-chan struct{} // of the server
}

func newRunner(end <-chan struct{}) *runner { return &runner{end: end} }

// start has the runner do a job, the one before having ended. It returns where a value comes when the job has.
func (r *runner) start(job func()) (done <-chan struct{}) {
	if r.jobs == nil {
		r.jobs, r.done = make(chan func()), make(chan struct{}, 1)
		go serveJobs(r.jobs, r.done, r.end)
	}
	r.jobs <- job
	return r.done
}

// renew has the next job done by a new goroutine: this one's stack may be large.
func (r *runner) renew() {
	close(r.jobs)
	r.jobs = nil
}

func serveJobs(jobs <-chan func(), done chan<- struct{}, end <-chan struct{}) {
	for {
		select {
		case job, more := <-jobs:
			if !more {
				return
			}
			job()
			done <- struct{}{}
		case <-end:
			return
		}
	}
}

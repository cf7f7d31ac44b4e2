// Leaving nothing behind when a signal ends the program: temporary files are removed, then the program exits.
#pragma once
#include <string_view>

namespace antiphase::tool {

// To be called once, at the start of main. SIGINT, SIGTERM and SIGHUP remove the temporary files and end the program with the exit
// code 128 + signal (130, 143, 129); a signal that the parent had ignored stays ignored, as nohup needs it. SIGBUS, which comes when
// a mapped input file is cut short while it is used, does the same with a message and exit code 3. SIGPIPE and SIGXFSZ are ignored,
// so that writing reports them as errors.
void install_signal_handlers();

// While it lives, a signal removes the file `path`. To be made before the file exists: the handler may run at any time.
class removed_on_signal {
 public:
  explicit removed_on_signal(std::string_view path);  // throws output_failed if the path is too long or too many are in use
  removed_on_signal(const removed_on_signal&) = delete;
  removed_on_signal& operator=(const removed_on_signal&) = delete;
  ~removed_on_signal();

 private:
  int slot_;
};

}  // namespace antiphase::tool

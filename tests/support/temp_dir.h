// A directory of a test's own, deleted with all that is in it.
#ifndef MCSCOPE_TESTS_SUPPORT_TEMP_DIR_H_
#define MCSCOPE_TESTS_SUPPORT_TEMP_DIR_H_

#include <string>

namespace mcscope::test {

class TempDir {
 public:
  // Open to all users, since a memcached started by root gives up its rights.
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::string& path() const { return path_; }
  std::string File(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

std::string ReadFile(const std::string& path);
void WriteFile(const std::string& path, const std::string& content);

}  // namespace mcscope::test

#endif  // MCSCOPE_TESTS_SUPPORT_TEMP_DIR_H_

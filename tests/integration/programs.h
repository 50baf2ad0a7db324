// The programs of this very build that the tests start.
#ifndef MCSCOPE_TESTS_INTEGRATION_PROGRAMS_H_
#define MCSCOPE_TESTS_INTEGRATION_PROGRAMS_H_

namespace mcscope::test {

inline constexpr char kMcscope[] = MCSCOPE_BINARY;
inline constexpr char kLibmemcachedClient[] = LIBMEMCACHED_CLIENT;
inline constexpr char kSourceDirectory[] = MCSCOPE_SOURCE_DIR;

}  // namespace mcscope::test

#endif  // MCSCOPE_TESTS_INTEGRATION_PROGRAMS_H_

#ifndef METRONOME_APP_AGENT_H_
#define METRONOME_APP_AGENT_H_

#include <filesystem>
#include <memory>

#include "metronome/learner/learner.h"
#include "metronome/train/checkpoint.h"
#include "metronome/train/config.h"

namespace metronome {

/// A trained network, ready to be asked one observation at a time, on the processor and in one thread.
struct Agent {
  RunConfig config;  ///< Of the run that it comes from.
  NetworkSpec network;
  std::unique_ptr<Learner> learner;
  std::int64_t step = 0;  ///< Of its checkpoint.
};

/// Throws Error (kBadCheckpoint) as ReadCheckpoint() does.
Agent LoadAgent(const std::filesystem::path& checkpoint);

/// Replaces the network of `agent` by that of another checkpoint of its run, and throws likewise.
void ReplaceNetwork(const std::filesystem::path& checkpoint, Agent& agent);

}  // namespace metronome

#endif  // METRONOME_APP_AGENT_H_

// SPDX-License-Identifier: Apache-2.0
// The API's calls as plain functions on the event loop's thread: request in, reply or gRPC status out.
#pragma once

#include <grpcpp/support/status.h>
#include <lossless.pb.h>

#include <chrono>
#include <functional>
#include <string>

#include "daemon/pfc/service.h"
#include "daemon/port/service.h"

namespace lossless::api {

// What the calls work on. Borrowed for the life of the server.
struct Context {
  port::PortService& ports;
  pfc::PfcService& pfc;
  std::string config_file;
  bool adopted = false;
  std::chrono::steady_clock::time_point started;
  // Reads the file again and applies it; the daemon's SIGHUP does the same.
  std::function<std::expected<std::vector<ConfigChange>, std::string>()> reload;
  // The datapath was given back: ends the daemon.
  std::function<void()> given_back;
};

grpc::Status get_version(const Context&, const v1::GetVersionRequest&, v1::GetVersionReply&);
grpc::Status list_ports(const Context&, const v1::ListPortsRequest&, v1::ListPortsReply&);
grpc::Status list_queues(const Context&, const v1::ListQueuesRequest&, v1::ListQueuesReply&);
grpc::Status list_ecn(const Context&, const v1::ListEcnRequest&, v1::ListEcnReply&);
grpc::Status list_pfc(const Context&, const v1::ListPfcRequest&, v1::ListPfcReply&);
grpc::Status list_hook_flows(const Context&, const v1::ListHookFlowsRequest&, v1::ListHookFlowsReply&);
grpc::Status list_pfc_watchdogs(const Context&, const v1::ListPfcWatchdogsRequest&,
                                v1::ListPfcWatchdogsReply&);
grpc::Status recover_pfc(const Context&, const v1::RecoverPfcRequest&, v1::RecoverPfcReply&);
grpc::Status set_pfc_escape(const Context&, const v1::SetPfcEscapeRequest&, v1::SetPfcEscapeReply&);
grpc::Status list_buffer(const Context&, const v1::ListBufferRequest&, v1::ListBufferReply&);
grpc::Status clear_watermark(const Context&, const v1::ClearWatermarkRequest&, v1::ClearWatermarkReply&);
grpc::Status list_packet_drops(const Context&, const v1::ListPacketDropsRequest&, v1::ListPacketDropsReply&);
grpc::Status list_priority_maps(const Context&, const v1::ListPriorityMapsRequest&,
                                v1::ListPriorityMapsReply&);
grpc::Status get_capabilities(const Context&, const v1::GetCapabilitiesRequest&, v1::GetCapabilitiesReply&);
grpc::Status set_ecn(const Context&, const v1::SetEcnRequest&, v1::SetEcnReply&);
grpc::Status diff_config(const Context&, const v1::DiffConfigRequest&, v1::DiffConfigReply&);
grpc::Status reload(const Context&, const v1::ReloadRequest&, v1::ReloadReply&);
grpc::Status detach(const Context&, const v1::DetachRequest&, v1::DetachReply&);

// Calls `each` for the named port, or for all when `name` is empty.
grpc::Status for_ports(const Context& context, const std::string& name,
                       const std::function<void(const port::Port&)>& each);

// All errors of a configuration file as one text, a line each.
std::string join_errors(const ConfigErrors& errors);

}  // namespace lossless::api

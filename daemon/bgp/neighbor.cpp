// SPDX-License-Identifier: Apache-2.0
#include "daemon/bgp/neighbor.h"

#include <algorithm>

namespace lossless::bgp {
namespace {

using std::chrono::seconds;

constexpr auto kOpenHold = seconds(240);  // RFC 4271 section 8.2.2: until the OPEN is there

}  // namespace

State Neighbor::state() const {
  if (!main_) return State::Idle;
  // Of two, what is further on is what people want to see.
  return other_ ? std::max(main_->state, other_->state) : main_->state;
}

Neighbor::Slot* Neighbor::slot_of(ConnId conn) {
  if (main_ && main_->id == conn) return &main_;
  if (other_ && other_->id == conn) return &other_;
  return nullptr;
}

void Neighbor::start(Time now) {
  if (settings_.shutdown) {
    held_down_ = "shutdown";
    return;
  }
  held_down_.clear();
  stopped_ = false;
  if (main_) return;
  main_.emplace();
  since_ = now;
  fire(main_, settings_.passive ? Event::StartPassive : Event::Start, now);
}

void Neighbor::reset(std::uint8_t subcode, std::string_view text, Time now) {
  const std::string held = held_down_;
  stop(subcode, text, "", now);
  if (held.empty() || held == "max-prefix") start(now);
}

void Neighbor::stop(std::uint8_t subcode, std::string_view text, std::string why, Time now) {
  stopped_ = true;
  held_down_ = std::move(why);
  const Notification fault = shutdown_notification(subcode, text);
  for (Slot* slot : {&other_, &main_}) {
    if (!*slot) continue;
    const State before = (*slot)->state;
    if (before >= State::OpenSent) send(*slot, MessageType::Notification, encode_notification(fault));
    if (before >= State::OpenSent) last_error_ = "sent: " + to_string(fault);
    end(*slot, before, Loss::Admin, now);
  }
  main_.reset();
  other_.reset();
}

void Neighbor::fell(Time now) {
  for (Slot* slot : {&other_, &main_}) {
    if (!*slot || (*slot)->state < State::OpenSent) continue;
    const Notification fault{.code = ErrorCode::Cease, .subcode = error::kBfdDown};
    fire(*slot, Event::Fault, now, &fault);
  }
}

void Neighbor::fail(const Notification& fault, Time now) {
  if (main_) fire(main_, Event::Fault, now, &fault);
}

bool Neighbor::accept(ConnId conn, Time now) {
  const bool wanted = !stopped_ && main_ && !other_;
  // RFC 4724 section 5: whoever comes again while the session is up has started anew.
  const bool again =
      wanted && main_->state == State::Established && peer_open_ && peer_open_->graceful_restart;
  if (!wanted || (main_->state == State::Established && !again)) {
    ++counters_.refused;
    return false;
  }
  Slot& slot = main_->state >= State::OpenSent ? other_ : main_;
  if (&slot == &main_ && main_->id != 0) host_.close(main_->id);
  slot.emplace();
  slot->id = conn;
  slot->state = State::Active;
  fire(slot, Event::TcpUp, now);
  return true;
}

void Neighbor::connected(ConnId conn, Time now) {
  if (Slot* slot = slot_of(conn)) fire(*slot, Event::TcpUp, now);
}

void Neighbor::disconnected(ConnId conn, const std::string& why, Time now) {
  Slot* slot = slot_of(conn);
  if (!slot) return;
  ((*slot)->state >= State::OpenSent ? last_error_ : connect_error_) = why;
  fire(*slot, Event::TcpFailed, now);
}

void Neighbor::received(ConnId conn, ByteView bytes, Time now) {
  Slot* slot = slot_of(conn);
  if (!slot) return;
  (*slot)->in.feed(bytes);
  while ((slot = slot_of(conn)) != nullptr) {
    const auto next = (*slot)->in.next();
    if (!next) {
      fire(*slot, Event::Fault, now, &next.error());
      return;
    }
    if (!*next || !handle(*slot, **next, now)) return;
  }
}

bool Neighbor::handle(Slot& slot, const Message& message, Time now) {
  ++counters_.in[static_cast<std::size_t>(message.type)];
  const ConnId conn = slot->id;
  switch (message.type) {
    case MessageType::Open:
      handle_open(slot, message.body, now);
      break;
    case MessageType::Update:
      handle_update(slot, message.body, now);
      break;
    case MessageType::Keepalive:
      fire(slot, Event::Keepalive, now);
      break;
    case MessageType::RouteRefresh:
      handle_refresh(slot, message.body, now);
      break;
    case MessageType::Notification:
      if (const auto notification = decode_notification(message.body))
        last_error_ = "received: " + to_string(*notification);
      fire(slot, Event::Notification, now);
      break;
  }
  return slot_of(conn) != nullptr;
}

std::optional<Notification> Neighbor::check_open(const Open& open) const {
  const auto refuse = [](std::uint8_t subcode) {
    return Notification{.code = ErrorCode::Open, .subcode = subcode};
  };
  if (open.asn != settings_.asn) return refuse(error::kBadPeerAs);
  // RFC 6286: inside one AS each has its own.
  if (!settings_.external() && open.router_id == settings_.router_id) return refuse(error::kBadId);
  return std::nullopt;
}

void Neighbor::handle_open(Slot& slot, ByteView body, Time now) {
  const auto open = decode_open(body);
  const auto fault = open ? check_open(*open) : std::optional(open.error());
  if (slot->state == State::OpenSent && fault) return fire(slot, Event::Fault, now, &*fault);
  if (slot->state != State::OpenSent || !open) return fire(slot, Event::Open, now);
  const ConnId conn = slot->id;
  slot->open = *open;
  resolve_collision(slot, *open, now);
  if (Slot* left = slot_of(conn)) fire(*left, Event::Open, now);
}

// RFC 4271 section 6.8: the connection that the one with the higher ID made stays. `slot` may be closed, or
// be the other one after this.
void Neighbor::resolve_collision(Slot& slot, const Open& open, Time now) {
  Slot& rival = &slot == &main_ ? other_ : main_;
  if (!rival) return;
  const Notification cease{.code = ErrorCode::Cease, .subcode = error::kCollision};
  if (rival->state == State::Established) {
    // Let in for its graceful restart alone: the old session is dead.
    if (!open.graceful_restart) return fire(slot, Event::Fault, now, &cease);
    last_error_ = "the neighbour started anew";
    return fire(rival, Event::TcpFailed, now);
  }
  if (rival->state != State::OpenConfirm) return;
  const bool ours_stays = settings_.router_id > open.router_id ||
                          (settings_.router_id == open.router_id && settings_.local_asn > settings_.asn);
  fire(slot->outgoing == ours_stays ? rival : slot, Event::Fault, now, &cease);
}

void Neighbor::handle_update(Slot& slot, ByteView body, Time now) {
  if (slot->state != State::Established) return fire(slot, Event::Update, now);
  const UpdateContext context{
      .attributes = {.four_octet_as = agreed_.four_octet_as, .external = settings_.external()},
      .families = agreed_.families};
  const auto update = decode_update(body, context);
  if (!update) return fire(slot, Event::Fault, now, &update.error());
  fire(slot, Event::Update, now);
  counters_.faults += update->faults.size();
  if (!update->faults.empty()) last_error_ = update->faults.front();
  host_.update(*this, *update);
}

void Neighbor::handle_refresh(Slot& slot, ByteView body, Time now) {
  if (slot->state != State::Established) return fire(slot, Event::Update, now);
  const auto refresh = decode_route_refresh(body);
  if (!refresh) return fire(slot, Event::Fault, now, &refresh.error());
  fire(slot, Event::Update, now);
  if (refresh->family && agreed_.families.has(*refresh->family)) host_.refresh(*this, *refresh);
}

void Neighbor::fire(Slot& slot, Event event, Time now, const Notification* fault) {
  const State before = slot->state;
  const Transition to = transition(before, event);
  slot->state = to.next;
  if (before != to.next) since_ = now;
  perform(slot, to, before, event, now, fault);
}

void Neighbor::perform(Slot& slot, const Transition& to, State before, Event event, Time now,
                       const Notification* fault) {
  switch (to.action) {
    case Action::None:
      return;
    case Action::Connect:
      slot->outgoing = true;
      slot->retry_due = now + seconds(settings_.connect_retry_s);
      if (slot->id != 0) host_.close(slot->id);
      slot->id = host_.connect(*this);
      return;
    case Action::WaitToConnect:
      return end(slot, before, Loss::Tcp, now);
    case Action::SendOpen:
      return send_open(slot, now);
    case Action::Confirm:
      return confirm(slot, now);
    case Action::Establish:
      return establish(slot, now);
    case Action::Heard:
      return heard(slot, now);
    case Action::SendKeepalive:
      return keepalive(slot, now);
    case Action::Drop:
      return end(slot, before, event == Event::Notification ? Loss::Received : Loss::Tcp, now);
    case Action::Notify:
      break;
  }
  Notification out = fault ? *fault : Notification{.code = to.code};
  if (!fault && to.code == ErrorCode::Fsm)
    out.subcode = static_cast<std::uint8_t>(static_cast<unsigned>(before) -
                                            static_cast<unsigned>(State::OpenSent) + error::kInOpenSent);
  last_error_ = "sent: " + to_string(out);
  send(slot, MessageType::Notification, encode_notification(out));
  end(slot, before, Loss::Sent, now);
}

void Neighbor::send(Slot& slot, MessageType type, Bytes message) {
  ++counters_.out[static_cast<std::size_t>(type)];
  host_.send(slot->id, std::move(message));
}

Open Neighbor::own_open() const {
  Open open{.asn = settings_.local_asn,
            .hold_s = static_cast<std::uint16_t>(settings_.hold_s),
            .router_id = settings_.router_id,
            .families = settings_.families};
  if (settings_.restart_s > 0) {
    GracefulRestart& gr = open.graceful_restart.emplace();
    gr.restarting = host_.restarting();
    gr.time_s = static_cast<std::uint16_t>(settings_.restart_s);
    for (const FamilyFacts& f : kFamilyTable)
      if (open.families.has(f.family)) gr.families.push_back({f.family, host_.restarting()});
  }
  return open;
}

void Neighbor::send_open(Slot& slot, Time now) {
  slot->retry_due.reset();
  slot->hold_due = now + kOpenHold;
  send(slot, MessageType::Open, encode_open(own_open()));
}

void Neighbor::confirm(Slot& slot, Time now) {
  const Open& theirs = *slot->open;
  const Open ours = own_open();
  Agreed& agreed = slot->agreed;
  agreed.families = ours.families.both(theirs.families);
  agreed.hold_s = std::min<unsigned>(ours.hold_s, theirs.hold_s);
  agreed.four_octet_as = theirs.four_octet_as;
  agreed.extended_message = theirs.extended_message;
  agreed.route_refresh = theirs.route_refresh;
  agreed.enhanced_refresh = theirs.enhanced_refresh;
  if (agreed.extended_message) slot->in.allow_extended();
  heard(slot, now);
  keepalive(slot, now);
}

void Neighbor::heard(Slot& slot, Time now) {
  slot->hold_due.reset();
  if (slot->agreed.hold_s > 0) slot->hold_due = now + seconds(slot->agreed.hold_s);
}

void Neighbor::keepalive(Slot& slot, Time now) {
  slot->keepalive_due.reset();
  if (slot->agreed.hold_s > 0) slot->keepalive_due = now + seconds(slot->agreed.hold_s) / 3;
  send(slot, MessageType::Keepalive, encode_keepalive());
}

void Neighbor::establish(Slot& slot, Time now) {
  heard(slot, now);
  // The other one has not come as far, and is of no use any more.
  if (&slot == &other_) std::swap(main_, other_);
  if (other_) {
    if (other_->state >= State::OpenSent)
      send(other_, MessageType::Notification,
           encode_notification({.code = ErrorCode::Cease, .subcode = error::kCollision}));
    if (other_->id != 0) host_.close(other_->id);
    other_.reset();
  }
  agreed_ = main_->agreed;
  peer_open_ = main_->open;
  ++counters_.established;
  handed_over_ = 0;
  connect_error_.clear();
  host_.established(*this);
}

void Neighbor::end(Slot& slot, State before, Loss loss, Time now) {
  if (slot->id != 0) host_.close(slot->id);
  const bool was_up = before == State::Established;
  if (&slot == &main_ && other_) {
    main_ = std::move(other_);
    other_.reset();
  } else {
    slot.reset();
  }
  if (was_up) {
    ++counters_.dropped;
    host_.lost(*this, loss);
  }
  if (main_ || stopped_) return;
  main_.emplace();
  main_->state = State::Active;
  since_ = now;
  if (!settings_.passive) main_->retry_due = now + seconds(settings_.connect_retry_s);
}

void Neighbor::advance(Time now) {
  for (Slot* slot : {&other_, &main_}) {
    if (!*slot) continue;
    const ConnId conn = (*slot)->id;
    const auto over = [&](const std::optional<Time>& due) { return due && *due <= now; };
    const auto same = [&] { return *slot && (*slot)->id == conn; };
    if (same() && over((*slot)->hold_due)) fire(*slot, Event::HoldTimer, now);
    if (same() && over((*slot)->keepalive_due)) fire(*slot, Event::KeepaliveTimer, now);
    if (same() && over((*slot)->retry_due)) fire(*slot, Event::RetryTimer, now);
  }
}

std::optional<Time> Neighbor::due() const {
  std::optional<Time> earliest;
  for (const Slot* slot : {&main_, &other_}) {
    if (!*slot) continue;
    for (const auto& due : {(*slot)->hold_due, (*slot)->keepalive_due, (*slot)->retry_due})
      if (due && (!earliest || *due < *earliest)) earliest = due;
  }
  return earliest;
}

bool Neighbor::ask_refresh(Family family) {
  if (!established() || !agreed_.route_refresh || !agreed_.families.has(family)) return false;
  send(main_, MessageType::RouteRefresh, encode_route_refresh(family, RefreshKind::Request));
  return true;
}

}  // namespace lossless::bgp

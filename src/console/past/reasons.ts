/** Describes events, and why sessions, wakeups and calls ended, for operators. Source: docs/events.md, Reasons. */

const sessionReasons: Readonly<Record<string, string>> = {
  peer_closed: 'the device closed the connection',
  bye: 'the device logged out',
  reset: 'the device or the network reset the connection',
  heartbeat_timeout: 'no heartbeat arrived in time: the device lost its power, its Wi-Fi or its network',
  replaced: 'a newer connection of the same device replaced it',
  kicked: 'an operator or a change of the registry ended it',
  flood: 'the device exceeded a rate limit',
  malformed: 'the device violated the protocol',
  drain: 'the server stopped or restarted',
  node_lost: 'the process or node that held it died',
  write_stuck: 'a write to the device timed out: the connection was dead',
};

const callReasons: Readonly<Record<string, string>> = {
  hangup_device: 'the device hung up',
  hangup_phone: 'the phone hung up',
  rejected: 'it was rejected',
  busy: 'the device was busy',
  cancelled: 'it was cancelled',
  timeout: 'the call was not connected or answered in time',
  error: 'an error ended it',
  lost: 'its lease expired: neither side was connected any more',
  replaced: 'a newer call of the device replaced it',
};

/** An unknown reason, from a later release, is shown as it is. */
export function sessionReason(reason: string): string {
  return sessionReasons[reason] ?? reason;
}

export function callReason(reason: string): string {
  return callReasons[reason] ?? reason;
}

const registryTerms: Readonly<Record<string, string>> = {
  secret: 'its secret',
  expires_at: 'its expiry',
  disabled: 'its disabled state',
  labels: 'its labels',
};

interface EventText {
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** The event as a sentence about the device, without the subject. */
export function describeEvent({ type, data }: EventText): string {
  const reason = typeof data['reason'] === 'string' ? data['reason'] : '';
  const of = typeof data['request_id'] === 'string' ? ` (${data['request_id']})` : '';
  switch (type) {
    case 'device.sleep.login':
      return data['replaced'] === true
        ? 'went to sleep again on a newer connection'
        : 'went to sleep: its module is connected';
    case 'device.sleep.offline':
      return `its module was disconnected: ${sessionReason(reason)}`;
    case 'device.signal.online':
      return data['replaced'] === true
        ? 'came online again on a newer connection'
        : 'came online: its controller is connected';
    case 'device.signal.offline':
      return `its controller was disconnected: ${sessionReason(reason)}`;
    case 'device.conflict':
      return `its ${String(data['connection'])} connections replaced each other ${String(data['replacements'])} times: its id or secret is used twice`;
    case 'device.wakeup.accepted':
      return `was sent a wakeup${of}`;
    case 'device.wakeup.completed':
      return `woke ${Number(data['woke_after_ms']) / 1000} s after the wakeup${of}`;
    case 'device.wakeup.expired':
      return `did not come online within a minute of the wakeup${of}`;
    case 'device.wakeup.failed':
      return `its module was disconnected before it woke${of}: ${sessionReason(reason)}`;
    case 'call.started':
      return 'a call began';
    case 'call.state':
      return `its call is ${String(data['state'])}`;
    case 'call.ended':
      return `its call ended: ${callReason(reason)}`;
    case 'device.registry.added':
      return `was added to the registry by ${byWhom(data)}`;
    case 'device.registry.removed':
      return `was removed from the registry by ${byWhom(data)}`;
    case 'device.registry.changed':
      return `was changed in the registry by ${byWhom(data)}: ${termsOf(data['changed'])}`;
    default:
      return type;
  }
}

function byWhom({ by }: EventText['data']): string {
  return typeof by === 'string' ? `application ${by}` : 'an operator';
}

function termsOf(changed: unknown): string {
  return Array.isArray(changed)
    ? changed.map((term) => registryTerms[String(term)] ?? String(term)).join(', ')
    : 'no recorded fields';
}

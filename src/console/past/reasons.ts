/** Why a session, a wakeup or a call ended, in words for an operator at night. Source: docs/events.md, Reasons. */

const sessionReasons: Readonly<Record<string, string>> = {
  peer_closed: 'the device closed the connection',
  bye: 'the device said goodbye',
  reset: 'the connection was reset, by the device or by something on its way',
  heartbeat_timeout: 'no heartbeat came in time: its power, its Wi-Fi or a network on the way is gone',
  replaced: 'a newer connection of the same device took its place',
  kicked: 'an operator, or a change of the registry, ended it',
  flood: 'it sent more than a device may',
  malformed: 'it sent what the protocol does not have',
  drain: 'the server was being stopped or restarted',
  node_lost: 'the process or node that held it died',
  write_stuck: 'it took no bytes any more: the connection was dead',
};

const callReasons: Readonly<Record<string, string>> = {
  hangup_device: 'the device hung up',
  hangup_phone: 'the phone hung up',
  rejected: 'it was rejected',
  busy: 'the device was busy',
  cancelled: 'it was cancelled',
  timeout: 'nobody connected or answered in time',
  error: 'an error ended it',
  lost: 'its lease ran out: nobody was heard of any more',
  replaced: 'another call of the device took its place',
};

/** One that a later release has stands for itself. */
export function sessionReason(reason: string): string {
  return sessionReasons[reason] ?? reason;
}

export function callReason(reason: string): string {
  return callReasons[reason] ?? reason;
}

const registryTerms: Readonly<Record<string, string>> = {
  secret: 'its secret',
  expires_at: 'its expiry',
  disabled: 'whether it is disabled',
  labels: 'its labels',
};

interface EventText {
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** What happened, as a sentence without its subject, the device. */
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
      return `lost its module before it woke${of}: ${sessionReason(reason)}`;
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
    : 'nothing that is told';
}

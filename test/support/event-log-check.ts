/**
 * Checks the whole event log, however often the server that wrote it was killed: order, numbers, and one end for every session.
 * It reads the log as a backend does. Source: events.md.
 */
import assert from 'node:assert/strict';

/** An event as GET /v1/events returns it. */
export interface PublishedEvent {
  readonly id: string;
  readonly type: string;
  readonly at: string;
  readonly device_id: string;
  readonly seq: number;
  readonly epoch: number | null;
  readonly data: Readonly<Record<string, unknown>>;
}

export type ConnectionKind = 'sleep' | 'signal';

/** The state of one connection of a device, derived from its events. */
export interface ConnectionHistory {
  /** Latest epoch; every epoch from 1 was opened once. */
  epoch: number;
  openSession: string | null;
  openedAt: string;
  /** Reason of the last end; null: none yet. A replacement does not count. */
  closedAt: string | null;
  nodeLost: number;
}

export interface CheckedLog {
  readonly connections: Readonly<Record<ConnectionKind, ReadonlyMap<string, ConnectionHistory>>>;
  /** Outcomes of the accepted wakeups by request id; null: none yet. */
  readonly wakeups: ReadonlyMap<string, string | null>;
}

/** `events`: the whole log from its oldest event. Throws an AssertionError that names the first wrong event. */
export function checkLog(events: readonly PublishedEvent[]): CheckedLog {
  const connections = {
    sleep: new Map<string, ConnectionHistory>(),
    signal: new Map<string, ConnectionHistory>(),
  };
  const wakeups = new Map<string, string | null>();
  const sessions = new Set<string>();
  const seqs = new Map<string, number>();
  let lastId = '';
  for (const event of events) {
    const about = JSON.stringify(event);
    assert.ok(event.id > lastId, `ids do not ascend: ${about}`);
    lastId = event.id;
    assert.equal(event.seq, (seqs.get(event.device_id) ?? 0) + 1, `seq has a gap or a repeat: ${about}`);
    seqs.set(event.device_id, event.seq);
    switch (event.type) {
      case 'device.sleep.login':
      case 'device.signal.online':
        open(connections[kindOf(event)], event, sessions);
        break;
      case 'device.sleep.offline':
      case 'device.signal.offline':
        close(connections[kindOf(event)], event);
        break;
      case 'device.conflict':
        break;
      default:
        checkWakeup(wakeups, event);
    }
  }
  return { connections, wakeups };
}

function kindOf({ type }: PublishedEvent): ConnectionKind {
  return type.startsWith('device.sleep.') ? 'sleep' : 'signal';
}

function open(
  connections: Map<string, ConnectionHistory>,
  event: PublishedEvent,
  sessions: Set<string>,
): void {
  const about = JSON.stringify(event);
  const known = connections.get(event.device_id);
  assert.equal(event.epoch, (known?.epoch ?? 0) + 1, `an epoch is left out or given again: ${about}`);
  const isOpen = known !== undefined && known.openSession !== null;
  assert.equal(event.data['replaced'], isOpen, `a session has no end, or one too many: ${about}`);
  const session = String(event.data['session']);
  assert.ok(!sessions.has(session), `a session is opened twice: ${about}`);
  sessions.add(session);
  connections.set(event.device_id, {
    epoch: event.epoch ?? 0,
    openSession: session,
    openedAt: event.at,
    closedAt: known?.closedAt ?? null,
    nodeLost: known?.nodeLost ?? 0,
  });
}

function close(connections: Map<string, ConnectionHistory>, event: PublishedEvent): void {
  const about = JSON.stringify(event);
  const known = connections.get(event.device_id);
  const session = known?.openSession ?? null;
  assert.ok(known !== undefined && session !== null, `what is not open ends: ${about}`);
  assert.deepEqual(
    [event.epoch, event.data['session']],
    [known.epoch, session],
    `another session ends: ${about}`,
  );
  assert.notEqual(event.data['reason'], 'replaced', `a replacement is reported as an end: ${about}`);
  known.openSession = null;
  known.closedAt = event.at;
  if (event.data['reason'] === 'node_lost') known.nodeLost += 1;
}

function checkWakeup(wakeups: Map<string, string | null>, { type, device_id, data }: PublishedEvent): void {
  const requestId = String(data['request_id']);
  const about = `${type} ${requestId} of ${device_id}`;
  if (type === 'device.wakeup.accepted') {
    assert.ok(!wakeups.has(requestId), `accepted twice: ${about}`);
    wakeups.set(requestId, null);
    return;
  }
  assert.match(type, /^device\.wakeup\.(completed|failed|expired)$/);
  assert.equal(wakeups.get(requestId), null, `not accepted, or a second outcome: ${about}`);
  wakeups.set(requestId, type);
}

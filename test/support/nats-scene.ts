/** Links and members of a test's cluster over a real NATS. */
import { once, EventEmitter } from 'node:events';
import type { Clock } from '../../src/lib/clock.ts';
import { SystemClock } from '../../src/lib/system-clock.ts';
import { NatsMembers } from '../../src/cluster/membership/nats-members.ts';
import { NatsKvStore } from '../../src/cluster/nats/nats-kv-store.ts';
import { NatsPeers } from '../../src/cluster/nats/nats-peers.ts';
import type { NatsLink, NatsLinkOptions } from '../../src/cluster/nats/nats-link.ts';
import { NatsTransport } from '../../src/cluster/nats/node-transport.ts';
import { nodeOf, type MemberId, type MemberStatus } from '../../src/model/cluster.ts';
import type { Log } from '../../src/lib/log.ts';
import type { PeerHost } from '../../src/core/ports/peers.ts';
import { FakeTelemetry } from './fakes.ts';
import type { Ending } from './temporary-store.ts';

export interface LogLine {
  readonly level: keyof Log;
  readonly fields: object;
  readonly message: string;
}

export class WatchedLog implements Log {
  readonly lines: LogLine[] = [];
  readonly #news = new EventEmitter();

  debug(fields: object, message: string): void {
    this.#add('debug', fields, message);
  }

  info(fields: object, message: string): void {
    this.#add('info', fields, message);
  }

  warn(fields: object, message: string): void {
    this.#add('warn', fields, message);
  }

  error(fields: object, message: string): void {
    this.#add('error', fields, message);
  }

  /** Resolves to the first line, past or future, whose message matches. */
  async logged(message: RegExp): Promise<LogLine> {
    for (;;) {
      const line = this.lines.find((line) => message.test(line.message));
      if (line !== undefined) return line;
      await once(this.#news, 'line');
    }
  }

  #add(level: keyof Log, fields: object, message: string): void {
    this.lines.push({ level, fields, message });
    this.#news.emit('line');
  }
}

export async function linkTo(
  t: Ending,
  url: string,
  options: Partial<NatsLinkOptions> = {},
): Promise<NatsTransport> {
  const link = await NatsTransport.open({
    url,
    credentialsPath: null,
    caPath: null,
    prefix: 'test',
    nodeName: 'node',
    replicas: 1,
    eventsRetainedMax: 100_000,
    eventsRetentionMs: 24 * 3600 * 1000,
    clock: new SystemClock(),
    log: new WatchedLog(),
    ...options,
  });
  t.after(() => link.close());
  return link;
}

export function linkIs(link: NatsLink, state: 'away' | 'there'): Promise<void> {
  const isWanted = (): boolean => link.isUnavailable === (state === 'away');
  return new Promise((resolve) => {
    if (isWanted()) resolve();
    const stop = link.onChange(() => {
      if (!isWanted()) return;
      stop();
      resolve();
    });
  });
}

export function memberId(node: string, incarnation = 'a'): MemberId {
  return `${node}@${incarnation}` as MemberId;
}

export function statusOf(member: MemberId, clock: Clock): MemberStatus {
  const node = nodeOf(member);
  return {
    member,
    node,
    state: 'up',
    version: '1.0.0',
    startedAtMs: Math.floor(clock.wallMs()),
    sleepSessions: 0,
    signalSessions: 0,
    outboxLength: 0,
    eventLag: 0,
    leaseAgeMs: 0,
  };
}

export interface NatsMember {
  readonly link: NatsLink;
  readonly clock: Clock;
  readonly members: NatsMembers;
  readonly peers: NatsPeers;
}

/** Joins a member that sends and answers requests over this link until the test ends. */
export async function joinPeers(
  t: Ending,
  link: NatsLink,
  self: MemberId,
  host: PeerHost,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): Promise<NatsMember> {
  await link.ready();
  const members = new NatsMembers({
    link,
    kv: new NatsKvStore(link, 'members', clock),
    clock,
    log,
    self,
    status: () => statusOf(self, clock),
    failOver: () => Promise.resolve(),
    reregister: () => undefined,
  });
  const peers = new NatsPeers({ link, members, clock, log, telemetry: new FakeTelemetry(), self, host });
  await members.start();
  await link.connection.flush();
  t.after(() => peers.close());
  t.after(() => members.stop());
  return { link, clock, members, peers };
}

/**
 * The parts that processes of one machine share, in memory: their messages, in order and late, the heartbeats that they
 * show each other, and the supervisor's word on who lives. Source: cluster.md, Several processes on one machine.
 */
import type { Gathered } from '../../src/lib/gathered.ts';
import { gatherAccepted } from '../../src/cluster/ipc/accepted-notices.ts';
import {
  decodePeerMessage,
  encodePeerMessage,
  type PeerMessage,
} from '../../src/protocol/cluster/peer-message.ts';
import { connectionKinds, type MemberId } from '../../src/model/cluster.ts';
import type { SessionId } from '../../src/model/ids.ts';
import type { AcceptedWakeup, PeerNotice } from '../../src/model/peer.ts';
import type { PeerHost } from '../../src/core/ports/peers.ts';
import type { DeviceDirectory } from '../../src/core/devices/device-directory.ts';
import type { Machine, ProcessPeers } from '../../src/server/supervisor/worker-set.ts';
import { CarriedPeers } from '../support/fake-peers.ts';
import type { Host, HostClock, Timeline } from './timeline.ts';

interface Listening {
  readonly host: Host;
  readonly received: (message: PeerMessage) => void;
}

/** The sockets of a machine's processes, and the memory that they show each other. */
export class MachineNetwork {
  readonly timeline: Timeline;
  readonly #delayMs: () => number;
  readonly #listening = new Map<MemberId, Listening>();
  readonly #lastMs = new Map<string, number>();
  readonly heartbeats = new Map<MemberId, Map<SessionId, number>>();

  constructor(timeline: Timeline, delayMs: () => number) {
    this.timeline = timeline;
    this.#delayMs = delayMs;
  }

  listen(member: MemberId, listening: Listening): void {
    this.#listening.set(member, listening);
  }

  leave(member: MemberId): void {
    this.#listening.delete(member);
  }

  isListening(member: MemberId): boolean {
    const listening = this.#listening.get(member);
    return listening !== undefined && !listening.host.isDead;
  }

  carry(from: MemberId, to: MemberId, bytes: Uint8Array): void {
    const listening = this.#listening.get(to);
    if (listening === undefined) return;
    const pair = `${from} ${to}`;
    const dueMs = Math.max(this.#lastMs.get(pair) ?? 0, this.timeline.nowMs + this.#delayMs());
    this.#lastMs.set(pair, dueMs);
    this.timeline.after(dueMs - this.timeline.nowMs, listening.host, () => {
      const decoded = decodePeerMessage(bytes);
      if (!decoded.ok) throw new Error(`a message does not survive its way: ${decoded.error}`);
      if (this.#listening.get(to) === listening) listening.received(decoded.value);
    });
  }
}

export interface OwnProcess {
  readonly member: MemberId;
  readonly host: Host;
  readonly clock: HostClock;
}

export function simulatedMachine(network: MachineNetwork, own: OwnProcess): Machine & { openAsks(): number } {
  let peers: MachinePeers | null = null;
  const shown = new Map<SessionId, number>();
  return {
    joinPeers: (host) => (peers = new MachinePeers(network, own, host)),
    heartbeats: {
      refresh: () => undefined,
      heartbeatOf: (member, session) => network.heartbeats.get(member)?.get(session) ?? 0,
      close: () => undefined,
    },
    openHeartbeats: () => {
      network.heartbeats.set(own.member, shown);
      let stop = (): void => undefined;
      return {
        start(devices: Pick<DeviceDirectory, 'actors'>) {
          stop = own.clock.every(1000, () => showHeartbeats(devices, shown));
        },
        close: () => Promise.resolve(stop()),
      };
    },
    openAsks: () => peers?.asked ?? 0,
  };
}

function showHeartbeats(devices: Pick<DeviceDirectory, 'actors'>, shown: Map<SessionId, number>): void {
  shown.clear();
  for (const actor of devices.actors())
    for (const kind of connectionKinds) {
      const session = actor.session(kind);
      if (session !== null) shown.set(session, actor.heartbeatAt(kind));
    }
}

class MachinePeers extends CarriedPeers implements ProcessPeers {
  readonly #network: MachineNetwork;
  readonly #own: OwnProcess;
  readonly #accepted: Gathered<AcceptedWakeup>;
  #others: readonly MemberId[] = [];

  constructor(network: MachineNetwork, own: OwnProcess, host: PeerHost) {
    super(own.member, own.clock, host);
    this.#network = network;
    this.#own = own;
    this.#accepted = gatherAccepted(own.clock, (notice) => this.#notifyAll(notice));
  }

  async listen(): Promise<void> {
    const { host } = this.#own;
    this.#network.listen(this.self, { host, received: (message) => this.received(message) });
  }

  socketOf(member: MemberId): string {
    return member;
  }

  members(list: readonly { readonly member: MemberId }[]): void {
    const others = list.map(({ member }) => member).filter((member) => member !== this.self);
    const gone = this.#others.filter((member) => !others.includes(member));
    this.#others = others;
    for (const member of gone) this.lost(member);
  }

  alive(): readonly MemberId[] {
    return [this.self, ...this.#others];
  }

  notify(to: MemberId | 'everybody', notice: PeerNotice): void {
    if (to !== 'everybody') this.#notify(to, notice);
    else if (notice.kind === 'wakeups-accepted')
      for (const wakeup of notice.wakeups) this.#accepted.add(wakeup);
    else this.#notifyAll(notice);
  }

  async close(): Promise<void> {
    this.#accepted.close();
    this.members([]);
    this.failAll();
    this.#network.leave(this.self);
  }

  /** No process hands over here. */
  async leave(): Promise<void> {}

  protected carry(to: MemberId, message: PeerMessage): void {
    this.#network.carry(this.self, to, encodePeerMessage(message));
  }

  protected isThere(member: MemberId): boolean {
    return this.#network.isListening(member);
  }

  #notifyAll(notice: PeerNotice): void {
    for (const member of this.#others) this.#notify(member, notice);
  }

  #notify(member: MemberId, notice: PeerNotice): void {
    if (this.#others.includes(member)) this.carry(member, { kind: 'notice', from: this.self, notice });
  }
}

/**
 * Members of a cluster within one process, and what can go wrong between them. What they say crosses as bytes, so that
 * what does not survive the way fails in tests. It arrives in a later turn of the same task; time is the clock's alone.
 */
import assert from 'node:assert/strict';
import type { Clock } from '../../src/lib/clock.ts';
import { OpenAsks } from '../../src/lib/open-asks.ts';
import { fail, type Result } from '../../src/lib/result.ts';
import {
  decodePeerMessage,
  encodePeerMessage,
  type PeerAnswerMessage,
  type PeerMessage,
} from '../../src/protocol/cluster/peer-message.ts';
import type { MemberId } from '../../src/model/cluster.ts';
import { peerMessageBytesMax, peerQuestionsMax } from '../../src/model/limits.ts';
import type {
  PeerAnswer,
  PeerAnswers,
  PeerFailure,
  PeerKind,
  PeerNotice,
  PeerQuestion,
} from '../../src/model/peer.ts';
import type { PeerHost, Peers } from '../../src/core/ports/peers.ts';

/** Of one member, as all others see it. */
export type PeerFault =
  /** Its lease is gone: `nobody`, at once. */
  | 'dead'
  /** Its lease lives and nobody is there: `nobody`, at once. */
  | 'unwakeable'
  /** Nothing gets there: `unsent`, at the end of the wait. */
  | 'unreachable'
  /** It gets everything, and does nothing until it is healed: `unanswered`, at the end of the wait. */
  | 'stopped'
  /** It does what it is asked, and the connection breaks before the answer: `unanswered`, at once. */
  | 'cut'
  /** What it is sent takes so long to get there. */
  | { readonly slowMs: number };

interface Seen<What> {
  readonly from: MemberId;
  readonly to: MemberId;
  readonly what: What;
}

export class FakeNetwork {
  /** All that was asked and told, whatever became of it. */
  readonly asked: Seen<PeerQuestion>[] = [];
  readonly told: Seen<PeerNotice>[] = [];
  readonly #clock: Clock;
  readonly #members = new Map<MemberId, FakePeers>();
  readonly #faults = new Map<MemberId, PeerFault>();
  /** What came to members while they were stopped. */
  readonly #held = new Map<MemberId, (() => void)[]>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  join(self: MemberId, host: PeerHost): FakePeers {
    const peers = new FakePeers(self, { clock: this.#clock, host, network: this });
    this.#members.set(self, peers);
    return peers;
  }

  /** Null: it is well again; what came to it while it was stopped is done now. */
  fault(member: MemberId, fault: PeerFault | null): void {
    if (fault === null) this.#faults.delete(member);
    else this.#faults.set(member, fault);
    const held = this.#held.get(member) ?? [];
    this.#held.delete(member);
    if (fault === 'dead') this.#lose(member);
    else for (const arrive of held) arrive();
  }

  leave(member: MemberId): void {
    this.#members.delete(member);
    this.#lose(member);
  }

  faultOf(member: MemberId): PeerFault | null {
    return this.#faults.get(member) ?? null;
  }

  alive(): MemberId[] {
    return [...this.#members.keys()].filter((member) => this.faultOf(member) !== 'dead');
  }

  carry(to: MemberId, message: PeerMessage): void {
    const bytes = encodePeerMessage(message);
    const arrive = (): void => this.#arrive(to, bytes);
    const fault = this.faultOf(to);
    if (fault === 'stopped') this.#held.set(to, [...(this.#held.get(to) ?? []), arrive]);
    else if (typeof fault === 'object' && fault !== null) this.#clock.after(fault.slowMs, arrive);
    else if (fault === null || fault === 'cut') queueMicrotask(arrive);
  }

  /** The connection of who asked breaks. */
  cut(from: MemberId, id: number): void {
    this.#members.get(from)?.cut(id);
  }

  #lose(member: MemberId): void {
    for (const peers of this.#members.values()) peers.lost(member);
  }

  #arrive(to: MemberId, bytes: Uint8Array): void {
    if (this.faultOf(to) === 'dead') return;
    const message = decodePeerMessage(bytes);
    assert.ok(message.ok, message.ok ? '' : `it does not survive the way: ${message.error}`);
    this.#members.get(to)?.arrived(message.value);
  }
}

interface FakePeersDeps {
  readonly clock: Clock;
  readonly host: PeerHost;
  readonly network: FakeNetwork;
}

export class FakePeers implements Peers {
  readonly self: MemberId;
  readonly #deps: FakePeersDeps;
  readonly #asks: OpenAsks<PeerAnswers, PeerFailure>;
  readonly #sent = new Map<number, { readonly to: MemberId; readonly isThere: boolean }>();
  #isClosed = false;

  constructor(self: MemberId, deps: FakePeersDeps) {
    this.self = self;
    this.#deps = deps;
    this.#asks = new OpenAsks<PeerAnswers, PeerFailure>(deps.clock, {
      max: peerQuestionsMax,
      unsent: 'unsent',
      expired: (id) => (this.#sent.get(id)?.isThere === true ? 'unanswered' : 'unsent'),
    });
  }

  alive(): readonly MemberId[] {
    return this.#deps.network.alive();
  }

  isAlive(member: MemberId): boolean {
    return this.alive().includes(member);
  }

  ask<Kind extends PeerKind>(
    member: MemberId,
    question: PeerQuestion<Kind>,
    waitMs: number,
  ): Promise<Result<PeerAnswer<Kind>, PeerFailure>> {
    const { network } = this.#deps;
    network.asked.push({ from: this.self, to: member, what: question });
    const fault = network.faultOf(member);
    if (member === this.self || this.#isClosed || !this.isAlive(member) || fault === 'unwakeable')
      return Promise.resolve(fail('nobody'));
    return this.#asks.ask(question.kind as Kind, waitMs, (id) => {
      const message: PeerMessage = { kind: 'question', id, from: this.self, question };
      if (encodePeerMessage(message).length > peerMessageBytesMax) return false;
      this.#sent.set(id, { to: member, isThere: fault !== 'unreachable' });
      network.carry(member, message);
      return true;
    });
  }

  notify(to: MemberId | 'everybody', notice: PeerNotice): void {
    if (this.#isClosed) return;
    const { network } = this.#deps;
    const message: PeerMessage = { kind: 'notice', from: this.self, notice };
    const others = this.alive().filter((member) => member !== this.self);
    for (const member of to === 'everybody' ? others : others.filter((other) => other === to)) {
      network.told.push({ from: this.self, to: member, what: notice });
      if (encodePeerMessage(message).length <= peerMessageBytesMax) network.carry(member, message);
    }
  }

  /** It ends in order: what is open is settled, and the others know. */
  close(): void {
    this.#isClosed = true;
    this.#asks.failAll();
    this.#deps.network.leave(this.self);
  }

  /** What it was asked is settled. */
  lost(member: MemberId): void {
    this.#asks.failAll((id) => {
      const sent = this.#sent.get(id);
      if (sent?.to !== member) return null;
      return sent.isThere ? 'unanswered' : 'nobody';
    });
  }

  arrived(message: PeerMessage): void {
    const { host } = this.#deps;
    switch (message.kind) {
      case 'question':
        void this.#answer(message);
        break;
      case 'answer':
        assert.ok(
          this.#asks.answered(message.id, message.to, message.answer),
          'an answer is to what was asked',
        );
        break;
      case 'notice':
        host.heard(message.notice, message.from);
        break;
      case 'leaving':
        throw new Error('no member here goes over to another process');
    }
  }

  /** The connection breaks: what is open is not known to be done. */
  cut(id: number): void {
    this.#asks.failed(id, 'unanswered');
  }

  async #answer({ id, from, question }: Extract<PeerMessage, { kind: 'question' }>): Promise<void> {
    const { host, network } = this.#deps;
    const answer = await host.answer(question);
    if (network.faultOf(this.self) === 'cut') {
      network.cut(from, id);
      return;
    }
    network.carry(from, { kind: 'answer', id, to: question.kind, answer } as PeerAnswerMessage);
  }
}

/**
 * Members of a cluster in one process, with faults between them. Messages are encoded, so that a value that does not survive
 * encoding fails tests. They arrive in a later turn; time is the clock's alone.
 */
import assert from 'node:assert/strict';
import type { Clock } from '../../src/lib/clock.ts';
import { OpenAsks } from '../../src/lib/link/open-asks.ts';
import { fail, type Result } from '../../src/lib/result.ts';
import type { MemberId } from '../../src/model/cluster.ts';
import { peerMessageBytesMax, peerQuestionsMax } from '../../src/model/limits.ts';
import type { PeerFailure } from '../../src/model/peer.ts';
import {
  decodePeerMessage,
  encodePeerMessage,
  type PeerAnswerMessage,
  type PeerMessage,
  type PeerAnswer,
  type PeerAnswers,
  type PeerKind,
  type PeerNotice,
  type PeerQuestion,
} from '../../src/protocol/cluster/peer-message.ts';
import type { PeerHost, Peers } from '../../src/core/ports/peers.ts';

/** The state of one member, as all others see it. */
export type PeerFault =
  /** Its lease has expired: `nobody`, at once. */
  | 'dead'
  /** Its lease is valid but it does not subscribe: `nobody`, at once. */
  | 'unwakeable'
  /** Nothing reaches it: `unsent`, at the end of the wait. */
  | 'unreachable'
  /** It receives everything and does nothing until it is healed: `unanswered`, at the end of the wait. */
  | 'stopped'
  /** It carries out requests, and the connection breaks before the answer: `unanswered`, at once. */
  | 'cut'
  | { readonly slowMs: number };

interface Seen<What> {
  readonly from: MemberId;
  readonly to: MemberId;
  readonly what: What;
}

export class FakeNetwork {
  readonly asked: Seen<PeerQuestion>[] = [];
  readonly notices: Seen<PeerNotice>[] = [];
  readonly #clock: Clock;
  readonly #members = new Map<MemberId, FakePeers>();
  readonly #faults = new Map<MemberId, PeerFault>();
  readonly #held = new Map<MemberId, (() => void)[]>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  join(self: MemberId, host: PeerHost): FakePeers {
    const peers = new FakePeers(self, this.#clock, host, this);
    this.#members.set(self, peers);
    return peers;
  }

  /** Null: heals the member, which then processes queued messages. */
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

  /** The asking member's connection breaks. */
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
    this.#members.get(to)?.received(message.value);
  }
}

export class FakePeers implements Peers {
  readonly self: MemberId;
  readonly #host: PeerHost;
  readonly #network: FakeNetwork;
  readonly #asks: OpenAsks<PeerAnswers, PeerFailure>;
  readonly #sent = new Map<number, { readonly to: MemberId; readonly isThere: boolean }>();
  #isClosed = false;

  constructor(self: MemberId, clock: Clock, host: PeerHost, network: FakeNetwork) {
    this.self = self;
    this.#host = host;
    this.#network = network;
    this.#asks = new OpenAsks<PeerAnswers, PeerFailure>(clock, {
      max: peerQuestionsMax,
      unsent: 'unsent',
      expired: (id) => (this.#sent.get(id)?.isThere === true ? 'unanswered' : 'unsent'),
    });
  }

  alive(): readonly MemberId[] {
    return this.#network.alive();
  }

  isAlive(member: MemberId): boolean {
    return this.alive().includes(member);
  }

  ask<Kind extends PeerKind>(
    member: MemberId,
    question: PeerQuestion<Kind>,
    waitMs: number,
  ): Promise<Result<PeerAnswer<Kind>, PeerFailure>> {
    this.#network.asked.push({ from: this.self, to: member, what: question });
    const fault = this.#network.faultOf(member);
    if (this.#isClosed || fault === 'unwakeable' || member === this.self || !this.isAlive(member))
      return Promise.resolve(fail('nobody'));
    let asked = -1;
    const answer = this.#asks.ask(question.kind as Kind, waitMs, (id) => {
      const message: PeerMessage = { kind: 'question', id, from: this.self, question };
      if (encodePeerMessage(message).length > peerMessageBytesMax) return false;
      asked = id;
      this.#sent.set(id, { to: member, isThere: fault !== 'unreachable' });
      this.#network.carry(member, message);
      return true;
    });
    void answer.then(() => this.#sent.delete(asked));
    return answer;
  }

  notify(to: MemberId | 'everybody', notice: PeerNotice): void {
    if (this.#isClosed) return;
    const message: PeerMessage = { kind: 'notice', from: this.self, notice };
    const others = this.alive().filter((member) => member !== this.self);
    for (const member of to === 'everybody' ? others : others.filter((other) => other === to)) {
      this.#network.notices.push({ from: this.self, to: member, what: notice });
      if (encodePeerMessage(message).length <= peerMessageBytesMax) this.#network.carry(member, message);
    }
  }

  received(message: PeerMessage): void {
    if (message.kind === 'question') void this.#answer(message);
    else if (message.kind === 'answer') this.#asks.answered(message.id, message.to, message.answer);
    else if (message.kind === 'notice') this.#host.receive(message.notice, message.from);
  }

  lost(member: MemberId): void {
    this.#asks.failAll((id) => {
      const sent = this.#sent.get(id);
      if (sent?.to !== member) return null;
      return sent.isThere ? 'unanswered' : 'nobody';
    });
  }

  /** The connection breaks: the outcome of open questions is unknown. */
  cut(id: number): void {
    this.#asks.failed(id, 'unanswered');
  }

  /** Closes in order: open questions are resolved, and the other members are notified. */
  close(): void {
    this.#isClosed = true;
    this.#asks.failAll();
    this.#network.leave(this.self);
  }

  async #answer({ id, from, question }: Extract<PeerMessage, { kind: 'question' }>): Promise<void> {
    const answer = await this.#host.answer(question);
    if (this.#network.faultOf(this.self) === 'cut') this.#network.cut(from, id);
    else this.#network.carry(from, { kind: 'answer', id, to: question.kind, answer } as PeerAnswerMessage);
  }
}

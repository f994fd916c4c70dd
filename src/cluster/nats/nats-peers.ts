/**
 * The other members over core NATS: one subject a member, one inbox for all answers. NATS answers at once when nobody
 * listens; a member that hangs keeps its subscriptions, and is known by its lease. While NATS is unavailable nothing is
 * sent, nor kept for later. Source: cluster.md, Route.
 */
import { createInbox, type Msg, type Subscription } from '@nats-io/nats-core';
import type { CoreDeps } from '../../core/ports/core-deps.ts';
import type { Cancel } from '../../lib/clock.ts';
import { Gathered } from '../../lib/gathered.ts';
import { OpenAsks } from '../../lib/link/open-asks.ts';
import { fail, type Result } from '../../lib/result.ts';
import type { MemberId } from '../../model/cluster.ts';
import { peerQuestionsMax } from '../../model/limits.ts';
import type { PeerFailure } from '../../model/peer.ts';
import type { AcceptedWakeup } from '../../protocol/cluster/member-values.ts';
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
} from '../../protocol/cluster/peer-message.ts';
import type { PeerHost, Peers } from '../../core/ports/peers.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';
import type { NodeTransport } from './node-transport.ts';
import type { NatsMembers } from '../membership/nats-members.ts';
import { NatsSendQueue } from './nats-send-queue.ts';

export interface NatsPeersDeps extends Pick<CoreDeps, 'clock' | 'log'> {
  readonly link: Pick<NodeTransport, 'names' | 'isUnavailable' | 'connection' | 'onChange'>;
  readonly members: Pick<NatsMembers, 'alive' | 'isAlive' | 'onGone'>;
  readonly telemetry: Pick<Telemetry, 'peerAsk' | 'peerAnswerTime'>;
  readonly self: MemberId;
  readonly host: PeerHost;
}

const malformedLogMs = 1000;
const noResponders = 503;
/** A repeat finds the member that has accepted a wakeup by its device: the others may know of it a moment later. */
export const noticesGathered = { max: 512, ms: 100 };

export class NatsPeers implements Peers {
  readonly self: MemberId;
  readonly #deps: NatsPeersDeps;
  readonly #asks: OpenAsks<PeerAnswers, PeerFailure>;
  readonly #sendQueue: NatsSendQueue;
  readonly #accepted: Gathered<AcceptedWakeup>;
  /** The subject of answers; the number of the question is its last token. */
  readonly #inbox: string;
  #subscriptions: Subscription[] = [];
  #isClosed = false;
  #malformed = 0;
  #malformedLoggedAtMs = -Infinity;
  /** The member each open question was sent to. */
  readonly #sentTo = new Map<number, MemberId>();
  readonly #stopsFollowing: readonly Cancel[];

  /** Listens as soon as NATS is there. */
  constructor(deps: NatsPeersDeps) {
    const { clock, link, self } = deps;
    this.self = self;
    this.#deps = deps;
    this.#asks = new OpenAsks<PeerAnswers, PeerFailure>(clock, {
      max: peerQuestionsMax,
      unsent: 'unsent',
      expired: () => 'unanswered',
    });
    this.#sendQueue = new NatsSendQueue(link);
    this.#accepted = new Gathered(clock, noticesGathered, (wakeups) =>
      this.#notifyAll({ kind: 'wakeups-accepted', wakeups }),
    );
    this.#inbox = createInbox(link.names.inbox);
    this.#stopsFollowing = [
      link.onChange((isUnavailable) => {
        if (isUnavailable) this.#asks.failAll();
        else this.#listen();
      }),
      deps.members.onGone((member) =>
        this.#asks.failAll((id) => (this.#sentTo.get(id) === member ? 'unanswered' : null)),
      ),
    ];
    if (!link.isUnavailable) this.#listen();
  }

  alive(): readonly MemberId[] {
    return this.#deps.members.alive();
  }

  isAlive(member: MemberId): boolean {
    return this.#deps.members.isAlive(member);
  }

  async ask<Kind extends PeerKind>(
    member: MemberId,
    question: PeerQuestion<Kind>,
    waitMs: number,
  ): Promise<Result<PeerAnswer<Kind>, PeerFailure>> {
    const { clock, telemetry } = this.#deps;
    const askedMs = clock.monotonicMs();
    const asked = await this.#ask<Kind>(member, question, waitMs);
    telemetry.peerAsk(asked.ok ? 'answered' : asked.error);
    if (asked.ok) telemetry.peerAnswerTime((clock.monotonicMs() - askedMs) / 1000);
    return asked;
  }

  notify(to: MemberId | 'everybody', notice: PeerNotice): void {
    if (this.#isClosed) return;
    if (to !== 'everybody') {
      if (this.isAlive(to)) this.#tell(this.#deps.link.names.member(to), notice);
    } else if (notice.kind === 'wakeups-accepted')
      for (const wakeup of notice.wakeups) this.#accepted.add(wakeup);
    else this.#notifyAll(notice);
  }

  /** Receives nothing more, and settles the open questions. The link stays. */
  close(): void {
    this.#isClosed = true;
    this.#accepted.close();
    for (const stop of this.#stopsFollowing) stop();
    for (const subscription of this.#subscriptions) subscription.unsubscribe();
    this.#asks.failAll();
  }

  #ask<Kind extends PeerKind>(
    member: MemberId,
    question: PeerQuestion<Kind>,
    waitMs: number,
  ): Promise<Result<PeerAnswer<Kind>, PeerFailure>> {
    if (this.#isClosed || member === this.self || !this.isAlive(member))
      return Promise.resolve(fail('nobody'));
    const subject = this.#deps.link.names.member(member);
    let sent = -1;
    const outcome = this.#asks.ask(question.kind as Kind, waitMs, (id) => {
      sent = id;
      this.#sentTo.set(id, member);
      return this.#send(subject, { kind: 'question', id, from: this.self, question }, `${this.#inbox}.${id}`);
    });
    void outcome.then(() => this.#sentTo.delete(sent));
    return outcome;
  }

  /** Once: the client makes its subscriptions again by itself at every connection. */
  #listen(): void {
    if (this.#subscriptions.length > 0) return;
    const { connection, names } = this.#deps.link;
    const onMessage = (error: Error | null, message: Msg): void => void (error ?? this.#onMessage(message));
    const onAnswer = (error: Error | null, message: Msg): void => void (error ?? this.#onAnswer(message));
    this.#subscriptions = [
      connection.subscribe(names.member(this.self), { callback: onMessage }),
      connection.subscribe(names.everybody, { callback: onMessage }),
      connection.subscribe(`${this.#inbox}.*`, { callback: onAnswer }),
    ];
  }

  #onMessage({ data, reply }: Msg): void {
    const decoded = decodePeerMessage(data);
    if (!decoded.ok) this.#complain(decoded.error);
    else if (decoded.value.kind === 'notice')
      this.#deps.host.receive(decoded.value.notice, decoded.value.from);
    else if (decoded.value.kind === 'question' && this.#isInbox(reply))
      void this.#answer(decoded.value, reply);
    else this.#complain(`${decoded.value.kind} where a question or a notice was expected`);
  }

  #onAnswer({ subject, data, headers }: Msg): void {
    if (headers?.code === noResponders && data.length === 0) {
      this.#asks.failed(Number(subject.slice(this.#inbox.length + 1)), 'nobody');
      return;
    }
    const decoded = decodePeerMessage(data);
    if (!decoded.ok) this.#complain(decoded.error);
    else if (!this.#isAnswer(decoded.value))
      this.#complain(`${decoded.value.kind} where the answer to another question was expected`);
  }

  #isAnswer(message: PeerMessage): boolean {
    return message.kind === 'answer' && this.#asks.answered(message.id, message.to, message.answer);
  }

  async #answer({ id, question }: Extract<PeerMessage, { kind: 'question' }>, reply: string): Promise<void> {
    const answer = await this.#deps.host.answer(question);
    this.#send(reply, { kind: 'answer', id, to: question.kind, answer } as PeerAnswerMessage);
  }

  #notifyAll(notice: PeerNotice): void {
    this.#tell(this.#deps.link.names.everybody, notice);
  }

  #tell(subject: string, notice: PeerNotice): void {
    this.#send(subject, { kind: 'notice', from: this.self, notice });
  }

  #send(subject: string, message: PeerMessage, reply?: string): boolean {
    return this.#sendQueue.send(subject, encodePeerMessage(message), reply);
  }

  /** Answers go to the inboxes of members and nowhere else, whatever a message says. */
  #isInbox(reply: string | undefined): reply is string {
    return reply?.startsWith(`${this.#deps.link.names.inbox}.`) === true;
  }

  #complain(reason: string): void {
    this.#malformed++;
    const nowMs = this.#deps.clock.monotonicMs();
    if (nowMs - this.#malformedLoggedAtMs < malformedLogMs) return;
    this.#malformedLoggedAtMs = nowMs;
    this.#deps.log.warn({ reason, malformed: this.#malformed }, 'a message between members is malformed');
  }
}

/**
 * The connection by which this process sends questions and notices to another one, dialled again whenever it breaks, for
 * as long as the other lives. What cannot go yet waits: a question as long as its asker does, a notice until it can. While the
 * member goes over to another process, which listens in its place, questions that its sessions are in wait for that.
 * Lifecycle: dialling -> greeting -> up, and back to dialling, also by leaving; from any of them refused, for the life of both,
 * or gone.
 */
import { createConnection } from 'node:net';
import { Channel, ChannelQueue, type ChannelEnd } from '../../lib/link/channel.ts';
import type { Cancel, Clock } from '../../lib/clock.ts';
import { OpenAsks } from '../../lib/link/open-asks.ts';
import { fail, type Result } from '../../lib/result.ts';
import {
  decodePeerHello,
  encodePeerHello,
  encodePeerMessage,
  readPeerMessage,
  type PeerHello,
} from '../../protocol/cluster/peer-message.ts';
import type { MemberId } from '../../model/cluster.ts';
import {
  peerBacklogBytesMax,
  peerGreetingMsMax,
  peerMessageBytesMax,
  peerQuestionsMax,
  peerRedialMs,
} from '../../model/limits.ts';
import type { PeerAnswer, PeerAnswers, PeerFailure, PeerKind, PeerQuestion } from '../../model/peer.ts';
import { successorStartMsMax } from '../../model/upgrade-limits.ts';
import type { Log } from '../../lib/log.ts';

export interface UnixLinkDeps {
  readonly self: MemberId;
  readonly clock: Clock;
  readonly log: Log;
}

type Stage = 'dialling' | 'greeting' | 'up' | 'leaving' | 'refused' | 'gone';

/** They are for sessions, which the other process has in a moment. */
const sessionQuestions: ReadonlySet<PeerKind> = new Set(['wake', 'write', 'message', 'disconnect']);

export class UnixLink {
  readonly member: MemberId;
  readonly #deps: UnixLinkDeps;
  readonly #path: string;
  readonly #queue = new ChannelQueue(peerBacklogBytesMax);
  readonly #asks: OpenAsks<PeerAnswers, PeerFailure>;
  #stage: Stage = 'dialling';
  #channel: Channel | null = null;
  #cancelRedial: Cancel = () => undefined;
  /** Keys of the notices in the queue: below those of questions. */
  #notices = 0;
  /** The member is on its way to another process. */
  #isMoving = false;
  /** While leaving: questions that were sent, and have no answer yet. */
  readonly #awaited = new Set<number>();

  constructor(member: MemberId, path: string, deps: UnixLinkDeps) {
    this.member = member;
    this.#path = path;
    this.#deps = deps;
    this.#asks = new OpenAsks<PeerAnswers, PeerFailure>(deps.clock, {
      max: peerQuestionsMax,
      unsent: 'unsent',
      expired: (id) => (this.#queue.takeBack(id) ? 'unsent' : 'unanswered'),
    });
    this.#dial();
  }

  ask<Kind extends PeerKind>(
    question: PeerQuestion<Kind>,
    waitMs: number,
  ): Promise<Result<PeerAnswer<Kind>, PeerFailure>> {
    if (this.#stage === 'refused') return Promise.resolve(fail('unsent'));
    const { self: from } = this.#deps;
    const patienceMs =
      this.#isMoving && waitMs > 0 && sessionQuestions.has(question.kind) ? successorStartMsMax : 0;
    return this.#asks.ask(question.kind as Kind, waitMs + patienceMs, (id) =>
      this.#put(id, encodePeerMessage({ kind: 'question', id, from, question })),
    );
  }

  /** `bytes`: of a notice. False: there is no room for it, or nobody to receive it. */
  notify(bytes: Uint8Array): boolean {
    if (this.#stage === 'refused') return false;
    this.#notices -= 1;
    return this.#put(this.#notices, bytes);
  }

  /** The other process lives no more, or this one does not. What is open is settled. */
  gone(): void {
    this.#stage = 'gone';
    this.#cancelRedial();
    this.#asks.failAll((id) => (this.#queue.has(id) ? 'nobody' : 'unanswered'));
    this.#queue.clear();
    this.#channel?.cut(null);
  }

  #put(key: number, bytes: Uint8Array): boolean {
    if (bytes.length > peerMessageBytesMax) {
      this.#deps.log.warn({ member: this.member, bytes: bytes.length }, 'too large for another member');
      return false;
    }
    const isPut = this.#queue.put(key, bytes);
    this.#channel?.flushSoon();
    return isPut;
  }

  #dial(): void {
    this.#stage = 'dialling';
    const { self: member, clock } = this.#deps;
    const socket = createConnection(this.#path);
    const channel = new Channel(socket, this.#queue, {
      clock,
      messageBytesMax: peerMessageBytesMax,
      endMsMax: peerGreetingMsMax,
      greeted: (payload) => this.#greeted(channel, payload),
      received: (payload) => this.#received(channel, payload),
      ended: (how) => this.#broken(how),
    });
    this.#channel = channel;
    socket.once('connect', () => {
      if (this.#stage !== 'dialling') return;
      this.#stage = 'greeting';
      channel.greet(encodePeerHello({ kind: 'hello', member }));
    });
  }

  #greeted(channel: Channel, payload: Buffer): string | null {
    const hello = decodePeerHello(payload);
    const refusal = hello.ok ? this.#refusalOf(hello.value) : hello.error;
    if (refusal !== null) {
      this.#refuse(refusal);
      return refusal;
    }
    this.#stage = 'up';
    this.#isMoving = false;
    channel.flow();
    return null;
  }

  /** Null: it is the member that we dialled. */
  #refusalOf(hello: PeerHello): string | null {
    if (hello.kind === 'refused') return hello.sentence;
    return hello.member === this.member ? null : `this is ${hello.member}`;
  }

  /** Neither this process nor that one becomes another one by waiting. */
  #refuse(sentence: string): void {
    this.#stage = 'refused';
    this.#deps.log.warn({ member: this.member, sentence }, 'refused by another member');
    this.#asks.failAll(() => 'unsent');
    this.#queue.clear();
  }

  #received(channel: Channel, payload: Buffer): string | null {
    const message = readPeerMessage(payload);
    if (!message.ok) return `sent what is no message: ${message.error}`;
    const { value } = message;
    if (value.kind === 'leaving') return this.#leave(channel);
    if (value.kind !== 'answer') return `sent a ${value.kind} where it is to answer`;
    if (!this.#asks.answered(value.id, value.to, value.answer))
      return 'answered another question than it was asked';
    if (this.#awaited.delete(value.id) && this.#awaited.size === 0) channel.cut(null);
    return null;
  }

  /** What was sent is answered there; what comes now waits for the process that goes on as this member. */
  #leave(channel: Channel): null {
    this.#stage = 'leaving';
    this.#isMoving = true;
    channel.hold();
    for (const id of this.#asks.ids()) if (!this.#queue.has(id)) this.#awaited.add(id);
    if (this.#awaited.size === 0) channel.cut(null);
    return null;
  }

  #broken(how: ChannelEnd): void {
    this.#channel = null;
    this.#awaited.clear();
    const { clock, log } = this.#deps;
    const fault = faultOf(how);
    if (this.#stage === 'up' && fault !== null)
      log.warn({ member: this.member, fault }, 'the connection to a member broke');
    if (this.#stage === 'refused' || this.#stage === 'gone') return;
    this.#asks.failAll((id) => (this.#queue.has(id) ? null : 'unanswered'));
    this.#stage = 'dialling';
    this.#cancelRedial = clock.after(peerRedialMs, () => this.#dial());
  }
}

/** What is wrong with the connection, for the log; null: one of the two hung up. */
export function faultOf(how: ChannelEnd): string | null {
  if (how.kind === 'fault') return how.fault;
  return how.kind === 'broken' ? how.error.message : null;
}

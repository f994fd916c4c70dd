/**
 * The connection by which this process asks and tells another one, and dials again whenever it breaks, for as long as
 * the other lives. What cannot go yet waits: a question as long as its asker does, a notice until it can. Lifecycle:
 * dialling -> greeting -> up, and back to dialling; from any of them refused, for the life of both, or gone.
 */
import { createConnection } from 'node:net';
import type { Cancel, Clock } from '../../lib/clock.ts';
import { encodeLengthFrame } from '../../lib/length-frame.ts';
import { fail, type Result } from '../../lib/result.ts';
import { decodePeerHello, encodePeerHello, type PeerHello } from '../../protocol/cluster/peer-hello.ts';
import {
  decodePeerMessage,
  encodePeerMessage,
  type PeerMessage,
} from '../../protocol/cluster/peer-message.ts';
import type { MemberId } from '../../model/cluster.ts';
import { peerMessageBytesMax, peerRedialMs } from '../../model/limits.ts';
import type { PeerAnswer, PeerFailure, PeerKind, PeerQuestion } from '../../model/peer.ts';
import type { Log } from '../../core/ports/log.ts';
import { OpenAsks } from './open-asks.ts';
import { UnixFrameQueue } from './unix-frame-queue.ts';
import { UnixStream } from './unix-stream.ts';

export interface UnixLinkDeps {
  readonly self: MemberId;
  readonly release: string;
  readonly clock: Clock;
  readonly log: Log;
}

type Stage = 'dialling' | 'greeting' | 'up' | 'refused' | 'gone';

export class UnixLink {
  readonly member: MemberId;
  readonly #deps: UnixLinkDeps;
  readonly #path: string;
  readonly #queue = new UnixFrameQueue();
  readonly #asks: OpenAsks;
  #stage: Stage = 'dialling';
  #stream: UnixStream | null = null;
  #cancelRedial: Cancel = () => undefined;
  /** Keys of the notices in the queue: below those of questions. */
  #notices = 0;

  constructor(member: MemberId, path: string, deps: UnixLinkDeps) {
    this.member = member;
    this.#path = path;
    this.#deps = deps;
    this.#asks = new OpenAsks(deps.clock, (id) => (this.#queue.takeBack(id) ? 'unsent' : 'unanswered'));
    this.#dial();
  }

  ask<Kind extends PeerKind>(
    question: PeerQuestion<Kind>,
    waitMs: number,
  ): Promise<Result<PeerAnswer<Kind>, PeerFailure>> {
    if (this.#stage === 'refused') return Promise.resolve(fail('unsent'));
    const { self: from } = this.#deps;
    return this.#asks.ask(question.kind as Kind, waitMs, (id) =>
      this.#put(id, encodePeerMessage({ kind: 'question', id, from, question })),
    );
  }

  /** `bytes`: of a notice. False: there is no room for it, or nobody who would hear it. */
  notify(bytes: Uint8Array): boolean {
    if (this.#stage === 'refused') return false;
    this.#notices -= 1;
    return this.#put(this.#notices, bytes);
  }

  /** It lives no more, or we do not. What is open is settled. */
  gone(): void {
    this.#stage = 'gone';
    this.#cancelRedial();
    this.#asks.failAll((id) => (this.#queue.has(id) ? 'nobody' : 'unanswered'));
    this.#queue.clear();
    this.#stream?.cut();
  }

  #put(key: number, bytes: Uint8Array): boolean {
    if (bytes.length > peerMessageBytesMax) {
      this.#deps.log.warn({ member: this.member, bytes: bytes.length }, 'too large for another member');
      return false;
    }
    const isPut = this.#queue.put(key, encodeLengthFrame(bytes));
    this.#stream?.wake();
    return isPut;
  }

  #dial(): void {
    this.#stage = 'dialling';
    const { self: member, release } = this.#deps;
    const socket = createConnection(this.#path);
    const stream = new UnixStream(socket, this.#queue, {
      received: (payload) => (this.#stage === 'up' ? this.#hear(payload) : this.#greeted(payload)),
      ended: (fault) => this.#broken(fault),
    });
    this.#stream = stream;
    socket.once('connect', () => {
      if (this.#stage !== 'dialling') return;
      this.#stage = 'greeting';
      stream.greet(encodePeerHello({ kind: 'hello', member, release }));
    });
  }

  #greeted(payload: Buffer): string | null {
    const hello = decodePeerHello(payload);
    const refusal = hello.ok ? this.#refusalOf(hello.value) : hello.error;
    if (refusal !== null) {
      this.#refuse(refusal);
      return refusal;
    }
    this.#stage = 'up';
    this.#stream?.open();
    return null;
  }

  /** Null: it is whom we dialled, and we go on. */
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

  #hear(payload: Buffer): string | null {
    const message = decodePeerMessage(payload);
    if (!message.ok) return `sent what is no message: ${message.error}`;
    return this.#answered(message.value);
  }

  #answered(message: PeerMessage): string | null {
    if (message.kind !== 'answer') return `sent a ${message.kind} where it is to answer`;
    return this.#asks.answered(message) ? null : `answered another question than it was asked`;
  }

  #broken(fault: string | null): void {
    this.#stream = null;
    const { clock, log } = this.#deps;
    if (this.#stage === 'up' && fault !== null)
      log.warn({ member: this.member, fault }, 'the connection to a member broke');
    if (this.#stage === 'refused' || this.#stage === 'gone') return;
    this.#asks.failAll((id) => (this.#queue.has(id) ? null : 'unanswered'));
    this.#stage = 'dialling';
    this.#cancelRedial = clock.after(peerRedialMs, () => this.#dial());
  }
}

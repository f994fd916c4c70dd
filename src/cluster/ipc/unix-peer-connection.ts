/** A connection by which another process of this machine sends its questions and notices to this one. */
import type { Socket } from 'node:net';
import { Channel, ChannelQueue } from '../../lib/link/channel.ts';
import type { Cancel, Clock } from '../../lib/clock.ts';
import { fail, succeed, type Result } from '../../lib/result.ts';
import {
  decodePeerHello,
  encodePeerHello,
  encodePeerMessage,
  isKnownQuestion,
  readPeerMessage,
  type PeerAnswerMessage,
  type PeerMessage,
} from '../../protocol/cluster/peer-message.ts';
import type { MemberId } from '../../model/cluster.ts';
import {
  peerAnswersMax,
  peerBacklogBytesMax,
  peerGreetingMsMax,
  peerMessageBytesMax,
} from '../../model/limits.ts';
import type { Log } from '../../lib/log.ts';
import type { PeerHost } from '../../core/ports/peers.ts';
import { faultOf } from './unix-link.ts';

export interface UnixPeerConnectionDeps {
  readonly self: MemberId;
  readonly clock: Clock;
  readonly log: Log;
  readonly host: PeerHost;
}

/** Answers count from 1 on. */
const leavingKey = 0;

type Question = Extract<PeerMessage, { kind: 'question' }>;

export class UnixPeerConnection {
  readonly #deps: UnixPeerConnectionDeps;
  readonly #queue = new ChannelQueue(peerBacklogBytesMax);
  readonly #channel: Channel;
  readonly #giveUp: Cancel;
  /** Null: it has not said yet who it is. */
  #member: MemberId | null = null;
  #questions = 0;
  #answers = 0;

  constructor(socket: Socket, deps: UnixPeerConnectionDeps, ended: (connection: UnixPeerConnection) => void) {
    const { clock, log } = deps;
    this.#deps = deps;
    this.#giveUp = clock.after(peerGreetingMsMax, () => this.cut());
    this.#channel = new Channel(socket, this.#queue, {
      clock,
      messageBytesMax: peerMessageBytesMax,
      endMsMax: peerGreetingMsMax,
      greeted: (payload) => this.#greeted(payload),
      received: (payload) => this.#received(payload),
      ended: (how) => {
        this.#giveUp();
        const fault = faultOf(how);
        if (fault !== null) log.warn({ member: this.#member, fault }, 'a member hung up, or was cut off');
        ended(this);
      },
    });
  }

  get member(): MemberId | null {
    return this.#member;
  }

  /** Another process goes on as this member: who asks here is told, and hangs up when it has its answers. */
  leave(): void {
    const isTold =
      this.#member !== null && this.#queue.put(leavingKey, encodePeerMessage({ kind: 'leaving' }));
    if (isTold) this.#channel.flushSoon();
    else this.cut();
  }

  cut(): void {
    this.#channel.cut(null);
  }

  #greeted(payload: Buffer): string | null {
    const { self, log } = this.#deps;
    const hello = this.#readHello(payload);
    this.#giveUp();
    if (hello.ok) {
      this.#member = hello.value;
      this.#channel.greet(encodePeerHello({ kind: 'hello', member: self }));
      this.#channel.flow();
    } else {
      log.warn({ sentence: hello.error }, 'refused another process');
      void this.#channel.end(encodePeerHello({ kind: 'refused', sentence: hello.error }));
    }
    return null;
  }

  /** The member that it is, or why it is refused. */
  #readHello(payload: Buffer): Result<MemberId, string> {
    const hello = decodePeerHello(payload);
    if (!hello.ok) return hello;
    if (hello.value.kind === 'refused') return fail('no hello');
    return succeed(hello.value.member);
  }

  #received(payload: Buffer): string | null {
    const message = readPeerMessage(payload);
    if (!message.ok) return `sent what is no message: ${message.error}`;
    const { value } = message;
    if (value.kind === 'answer' || value.kind === 'leaving') return 'answered where it is to ask';
    if (value.from !== this.#member) return `speaks for ${value.from}`;
    if (value.kind === 'question') this.#asked(value);
    else this.#deps.host.heard(value.notice, value.from);
    return null;
  }

  #asked({ id, question }: Question): void {
    if (!isKnownQuestion(question)) return this.#notUnderstood(question.kind);
    if (this.#questions >= peerAnswersMax) return;
    this.#questions += 1;
    void this.#deps.host.answer(question).then((answer) => {
      this.#questions -= 1;
      this.#answer({ kind: 'answer', id, to: question.kind, answer } as PeerAnswerMessage);
    });
  }

  /** While the workers change to another release: the question's time runs out. */
  #notUnderstood(question: string): void {
    this.#deps.log.warn({ member: this.#member, question }, 'a member asks what this release does not know');
  }

  /** One that has no room is lost: its question's time runs out. */
  #answer(message: PeerAnswerMessage): void {
    const bytes = encodePeerMessage(message);
    this.#answers += 1;
    if (bytes.length <= peerMessageBytesMax && this.#queue.put(this.#answers, bytes))
      this.#channel.flushSoon();
    else {
      const { id, to } = message;
      this.#deps.log.error(
        { member: this.#member, id, to, bytes: bytes.length },
        'an answer could not be sent',
      );
    }
  }
}

/** A connection by which another process of this machine asks and tells this one. */
import type { Socket } from 'node:net';
import type { Cancel, Clock } from '../../lib/clock.ts';
import { encodeLengthFrame } from '../../lib/length-frame.ts';
import { fail, succeed, type Result } from '../../lib/result.ts';
import { decodePeerHello, encodePeerHello } from '../../protocol/cluster/peer-hello.ts';
import {
  decodePeerMessage,
  encodePeerMessage,
  type PeerAnswerMessage,
  type PeerMessage,
} from '../../protocol/cluster/peer-message.ts';
import type { MemberId } from '../../model/cluster.ts';
import { peerAnswersMax, peerGreetingMsMax, peerMessageBytesMax } from '../../model/limits.ts';
import type { Log } from '../../core/ports/log.ts';
import type { PeerHost } from '../../core/ports/peers.ts';
import { UnixFrameQueue } from './unix-frame-queue.ts';
import { UnixStream } from './unix-stream.ts';

export interface UnixPeerConnectionDeps {
  readonly self: MemberId;
  readonly release: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly host: PeerHost;
}

type Question = Extract<PeerMessage, { kind: 'question' }>;

export class UnixPeerConnection {
  readonly #deps: UnixPeerConnectionDeps;
  readonly #queue = new UnixFrameQueue();
  readonly #stream: UnixStream;
  readonly #giveUp: Cancel;
  /** Null: it has not said yet who it is. */
  #member: MemberId | null = null;
  #questions = 0;
  #answers = 0;

  constructor(socket: Socket, deps: UnixPeerConnectionDeps, ended: (visit: UnixPeerConnection) => void) {
    this.#deps = deps;
    this.#giveUp = deps.clock.after(peerGreetingMsMax, () => this.cut());
    this.#stream = new UnixStream(socket, this.#queue, {
      received: (payload) =>
        this.#member === null ? this.#greeted(payload) : this.#hear(payload, this.#member),
      ended: (fault) => {
        this.#giveUp();
        if (fault !== null)
          deps.log.warn({ member: this.#member, fault }, 'a member hung up, or was cut off');
        ended(this);
      },
    });
  }

  get member(): MemberId | null {
    return this.#member;
  }

  cut(): void {
    this.#stream.cut();
  }

  #greeted(payload: Buffer): string | null {
    const { self, release, log } = this.#deps;
    const guest = this.#readHello(payload);
    if (guest.ok) {
      this.#giveUp();
      this.#member = guest.value;
      this.#stream.greet(encodePeerHello({ kind: 'hello', member: self, release }));
      this.#stream.open();
    } else {
      log.warn({ sentence: guest.error }, 'refused another process');
      this.#stream.endWith(encodePeerHello({ kind: 'refused', sentence: guest.error }));
    }
    return null;
  }

  /** Who it is, or why it may not come in. */
  #readHello(payload: Buffer): Result<MemberId, string> {
    const hello = decodePeerHello(payload);
    if (!hello.ok) return hello;
    if (hello.value.kind === 'refused') return fail('no hello');
    const { member, release } = hello.value;
    if (release === this.#deps.release) return succeed(member);
    return fail(`release ${release}, and this member is of ${this.#deps.release}`);
  }

  #hear(payload: Buffer, member: MemberId): string | null {
    const message = decodePeerMessage(payload);
    if (!message.ok) return `sent what is no message: ${message.error}`;
    const { value } = message;
    if (value.kind === 'answer') return 'answered where it is to ask';
    if (value.from !== member) return `speaks for ${value.from}`;
    if (value.kind === 'question') this.#asked(value);
    else this.#deps.host.heard(value.notice, member);
    return null;
  }

  #asked({ id, question }: Question): void {
    if (this.#questions >= peerAnswersMax) return;
    this.#questions += 1;
    void this.#deps.host.answer(question).then((answer) => {
      this.#questions -= 1;
      this.#answer({ kind: 'answer', id, to: question.kind, answer } as PeerAnswerMessage);
    });
  }

  /** One that has no room is lost: its question's time runs out. */
  #answer(message: PeerAnswerMessage): void {
    const bytes = encodePeerMessage(message);
    this.#answers += 1;
    if (bytes.length <= peerMessageBytesMax && this.#queue.put(this.#answers, encodeLengthFrame(bytes)))
      this.#stream.wake();
    else {
      const { id, to } = message;
      this.#deps.log.error(
        { member: this.#member, id, to, bytes: bytes.length },
        'an answer could not be sent',
      );
    }
  }
}

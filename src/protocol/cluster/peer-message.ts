/**
 * What members ask, answer and tell each other, as bytes. An answer says which kind of question it is to, so that it can
 * be checked by itself; whether that is what was asked is for who asked to see. Source: cluster.md, Route.
 */
import { z } from 'zod';
import type { Result } from '../../lib/result.ts';
import type { MemberId } from '../../model/cluster.ts';
import type { PeerAnswer, PeerKind, PeerNotice, PeerQuestion } from '../../model/peer.ts';
import { encodeJsonObject, memberId } from './name-values.ts';
import { answers, notice, question } from './peer-values.ts';
import { decodeVersioned, encodeVersioned } from './versioned.ts';

export type PeerAnswerMessage<Kind extends PeerKind = PeerKind> = {
  [One in Kind]: {
    readonly kind: 'answer';
    readonly id: number;
    /** The kind of the question. */
    readonly to: One;
    readonly answer: PeerAnswer<One>;
  };
}[Kind];

/** `id`: of the question, a number of who asks, 0 to 2^32 - 1. */
export type PeerMessage =
  | {
      readonly kind: 'question';
      readonly id: number;
      readonly from: MemberId;
      readonly question: PeerQuestion;
    }
  | PeerAnswerMessage
  | { readonly kind: 'notice'; readonly from: MemberId; readonly notice: PeerNotice };

const id = z.int().min(0).max(0xffff_ffff);

function answerTo<Kind extends PeerKind>(to: Kind) {
  return z.strictObject({ kind: z.literal('answer'), id, to: z.literal(to), answer: answers[to] });
}

const message = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('question'), id, from: memberId, question }),
  z.discriminatedUnion('to', [
    answerTo('heartbeats'),
    answerTo('wake'),
    answerTo('write'),
    answerTo('message'),
    answerTo('issue-call'),
    answerTo('take-calls'),
    answerTo('disconnect'),
    answerTo('metrics'),
    answerTo('status'),
  ]),
  z.strictObject({ kind: z.literal('notice'), from: memberId, notice }),
]);

/** May be larger than `peerMessageBytesMax`, and is then not to be sent. */
export function encodePeerMessage(message: PeerMessage): Uint8Array {
  if (message.kind !== 'question' || message.question.kind !== 'message') return encodeVersioned(message);
  const { request } = message.question;
  const payload = encodeJsonObject(request.payload);
  return encodeVersioned({ ...message, question: { kind: 'message', request: { ...request, payload } } });
}

/** The message, or what is wrong with the bytes, as a sentence. Never throws. */
export function decodePeerMessage(bytes: Uint8Array): Result<PeerMessage, string> {
  return decodeVersioned<PeerMessage>(bytes, message);
}

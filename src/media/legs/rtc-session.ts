/**
 * A session resource of WebRTC: what opens it again, its entity tag, and the candidates that are sent to it. ICE is not
 * restarted, so the tag stays. Source: RFC 9725, 4.3.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';
import { fail, succeed, type Result } from '../../lib/result.ts';
import { fullBucket, spendTokens, waitForToken, type TokenBucket } from '../../lib/token-bucket.ts';
import { rtcFragmentBytesMax, rtcPatchRateMax, rtcPatchesWaitingMax } from '../../model/media/rtc-limits.ts';
import type { RtcPeer } from '../webrtc/rtc-peer.ts';
import { tooLarge, tooOften, type HttpRefusal } from './refusal.ts';
import type { UpgradeRequest } from './upgrade-request.ts';

const etagBytes = 9;

export interface RtcSessionDeps {
  readonly clock: Clock;
  /** Asked for again when the session is changed; null: its address is enough. */
  readonly credential: string | null;
  readonly peer: RtcPeer;
  /** Its client ends it. */
  readonly hangUp: () => void;
}

export class RtcSession {
  readonly etag = `"${randomBytes(etagBytes).toString('base64url')}"`;
  readonly hangUp: () => void;
  readonly #clock: Clock;
  readonly #peer: RtcPeer;
  /** Null: none. */
  readonly #credentialHash: Buffer | null;
  readonly #patches: TokenBucket;
  #patchesWaiting = 0;

  constructor({ clock, credential, peer, hangUp }: RtcSessionDeps) {
    this.#clock = clock;
    this.#peer = peer;
    this.hangUp = hangUp;
    this.#credentialHash = credential === null ? null : hash(credential);
    this.#patches = fullBucket(rtcPatchRateMax, clock.monotonicMs());
  }

  isOpenedBy(bearer: string | null): boolean {
    const expected = this.#credentialHash;
    return expected === null || (bearer !== null && timingSafeEqual(expected, hash(bearer)));
  }

  /** Takes the candidates in the body. */
  async patch(request: UpgradeRequest): Promise<Result<null, HttpRefusal>> {
    const waitMs = waitForToken(this.#patches, rtcPatchRateMax, this.#clock.monotonicMs());
    if (waitMs > 0 || this.#patchesWaiting >= rtcPatchesWaitingMax) return fail(tooOften(waitMs));
    spendTokens(this.#patches);
    const wrong = this.#faultOfCondition(request.request.headers['if-match']);
    if (wrong !== null) return fail(wrong);
    this.#patchesWaiting += 1;
    const body = await request.readBody(rtcFragmentBytesMax);
    this.#patchesWaiting -= 1;
    if (body === null) return fail(tooLarge(rtcFragmentBytesMax));
    const taken = this.#peer.patch(body.toString('utf8'));
    return taken.ok ? succeed(null) : fail({ status: 422, sentence: taken.error });
  }

  #faultOfCondition(given: string | undefined): HttpRefusal | null {
    if (given === undefined) return { status: 428, sentence: 'name the ETag of the session as If-Match' };
    const named = new Set(given.split(',').map((tag) => tag.trim()));
    if (named.has('*') || named.has(this.etag)) return null;
    return { status: 412, sentence: 'the ETag of If-Match is not that of the session' };
  }
}

function hash(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/**
 * A WebRTC session resource: its credential, its entity tag, and its candidates. ICE is not restarted, so the tag never changes. Source:
 * RFC 9725, 4.3.
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
  /** Required for changes of the session; null: its URL is sufficient. */
  readonly credential: string | null;
  readonly peer: RtcPeer;
  readonly hangUp: () => void;
}

export class RtcSession {
  readonly etag = `"${randomBytes(etagBytes).toString('base64url')}"`;
  readonly hangUp: () => void;
  readonly #clock: Clock;
  readonly #peer: RtcPeer;
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
    const patched = this.#peer.patch(body.toString('utf8'));
    return patched.ok ? succeed(null) : fail({ status: 422, sentence: patched.error });
  }

  #faultOfCondition(ifMatch: string | undefined): HttpRefusal | null {
    if (ifMatch === undefined) return { status: 428, sentence: 'name the ETag of the session as If-Match' };
    const named = new Set(ifMatch.split(',').map((tag) => tag.trim()));
    if (named.has('*') || named.has(this.etag)) return null;
    return { status: 412, sentence: 'the ETag of If-Match is not that of the session' };
  }
}

function hash(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/**
 * Limits of a session description that several files know, each far above the offers of browsers and encoders; beyond any of
 * them it is refused with a sentence that names the limit. Its bytes: rtc-limits.ts. Source: RFC 8866.
 */

export const sdpSectionsMax = 64;
/** Media lines that one refusal names; the rest is cut. */
export const sdpSectionsShownMax = 4;
/** Maximum length of `a=mid`: its item in RTCP has no room for more (RFC 9143, 15). Beyond it an offer is refused. */
export const sdpMidCharactersMax = 255;
/** In one media section. RTP has 128 payload types. */
export const sdpFormatsMax = 128;

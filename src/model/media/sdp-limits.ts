/**
 * Limits of a session description, shared by several files and far above real offers; beyond any of them it is refused with a
 * sentence that names the limit. For its size see rtc-limits.ts. Source: RFC 8866.
 */

export const sdpSectionsMax = 64;
/** Media lines quoted in one refusal; the rest is omitted. */
export const sdpSectionsShownMax = 4;
/** Maximum length of `a=mid`: its RTCP item has no room for more (RFC 9143, 15). Beyond it an offer is refused. */
export const sdpMidCharactersMax = 255;
/** Per media section. RTP has 128 payload types. */
export const sdpFormatsMax = 128;

/** Limits of WebRTC legs, each with what happens beyond it. Source: RFC 9725; calls-and-media.md, Legs. */

/** Bodies of WebRTC requests: an offer in SDP, and a fragment with candidates; beyond either 413. */
export const rtcOfferBytesMax = 64 * 1024;
export const rtcFragmentBytesMax = 16 * 1024;
/** Offers that are read or answered at once, one of a call among them; another is answered 503. */
export const rtcOffersWaitingMax = 256;
/** Offers of one call; beyond it 429. A device that lost its network offers anew once every few seconds. */
export const rtcOffersPerSecondMax = 1;
export const rtcOffersBurstMax = 5;
/** Calls whose rate of offers is remembered; the one that offered longest ago is forgotten. */
export const rtcOfferRatesKeptMax = 10_000;
/** Fragments of one session: by rate, beyond it 429, and at once. A client sends each candidate by itself at worst. */
export const rtcPatchesPerSecondMax = 10;
export const rtcPatchesBurstMax = 40;
export const rtcPatchesWaitingMax = 8;
/** A bridge is not asked sooner again for another frame rate. */
export const rtcFrameRateAskMsMin = 2000;
/** Frames a second of video, whatever a setting or a network allows. */
export const framesPerSecondMax = 60;

/** Limits of provisioning, and the effect of exceeding them. Source: docs/provisioning.md. */

/** Secret of the registry: bytes, and minimum of Unicode code points, which a setting may lift. */
export const secretBytesMax = 1024;
export const secretCharactersMin = 16;

/**
 * `expires_at`, `not_before` and `not_after`: the end of the year 9999, the last with four digits. Larger values are refused:
 * they are milliseconds.
 */
export const unixSecondsMax = 253_402_300_799;

export const deviceLabelsMax = 16;
/** Devices in one request that adds them; more are 40003. */
export const devicesAddedMax = 500;
/** Devices per page of a listing, and devices of the registry examined per page, of any application: the page then ends early. */
export const devicesPageMax = 500;
export const devicesPageDefault = 100;
export const devicesLookedAtMax = 10_000;
/** Devices of one page whose state is queried, and how many of them at once. */
export const devicesAskedMax = 500;
export const devicesAskedAtOnce = 50;
/** Concurrent listings per process, of one application and in all; another one is 42901. */
export const listingsPerApplicationMax = 8;
export const listingsMax = 32;
/** Concurrent changes of devices per process, of one application and in all; another one is 42901. */
export const provisioningsPerApplicationMax = 4;
export const provisioningsMax = 16;
/** Signed changes of devices remembered while their date is within the clock window; full: 42901. About 150 bytes each. */
export const provisioningsKnownMax = 200_000;

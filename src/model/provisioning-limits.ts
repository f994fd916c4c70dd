/** Limits of provisioning, and what full means. Source: docs/provisioning.md. */

/** A secret of the registry; characters are Unicode code points, fewer only by a setting. */
export const secretBytesMax = 1024;
export const secretCharactersMin = 16;

/**
 * `expires_at`, `not_before` and `not_after`: the end of the year 9999, the last that a date of four digits can show. Larger values are
 * refused: they are milliseconds.
 */
export const unixSecondsMax = 253_402_300_799;

/** Labels of one device. */
export const deviceLabelsMax = 16;
/** Devices in one request that adds them; more are 40003. */
export const devicesAddedMax = 500;
/** Devices in one page of a listing; those of the registry that one page looks at, whosever they are: then it ends early. */
export const devicesPageMax = 500;
export const devicesPageDefault = 100;
export const devicesLookedAtMax = 10_000;
/** Devices of one page that are asked whether they are online, and how many of them at once. */
export const devicesAskedMax = 500;
export const devicesAskedAtOnce = 50;
/** Listings under way in one process, of one application and in all; another one is 42901. */
export const listingsPerApplicationMax = 8;
export const listingsMax = 32;
/** Changes of devices under way in one process, of one application and in all; another one is 42901. */
export const provisioningsPerApplicationMax = 4;
export const provisioningsMax = 16;
/** Signed changes of devices known while their date is within the clock window; full is 42901. About 150 bytes each. */
export const provisioningsKnownMax = 200_000;

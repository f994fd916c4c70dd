/**
 * Limits of the work that one frame may cost its decoder, of the workers' time, and of the memory of media processes. A frame
 * beyond the limits of work is dropped as undecodable before decoding. Source: calls-and-media.md, The media process.
 */

/** NAL units of an access unit: a message of 1 MiB in slices of about 1200 bytes. */
export const accessUnitPartsMax = 1280;
/**
 * Parameter sets per access unit, and remembered per stream, where the least recently repeated is dropped: a decoder allocates
 * tables of the picture's size for each.
 */
export const parameterSetsMax = 32;
/** A larger set is decoded, but not passed to the stream's next decoder; encoders produce 1 KiB at most. */
export const parameterSetBytesMax = 4096;
/**
 * Bound on blocks of 16 x 16: a slice is charged all blocks from its first one to the end of the picture. All slices of an
 * access unit may cost this many pictures (as 80 slices of equal size do), a small picture counted as 1920 x 1088; plus this
 * many blocks per byte, so that slices of 1000 bytes are always allowed.
 */
export const sliceAreasMax = 40;
export const sliceAreaBlocksMin = 8160;
export const sliceBlocksPerByte = 4;
/** Blocks of 16 x 16 in a decoder's reference pictures: the maximum of H.265 level 5.1, 80 MB. */
export const referenceBlocksMax = 208_896;

/** Scans of a JPEG, each of which may cover the whole picture; encoders produce 15 at most. */
export const jpegScansMax = 32;
/** Frame headers of a JPEG, including thumbnails' and bytes that resemble one: each clears a picture's memory. */
export const jpegFrameHeadersMax = 8;
/** Bytes of Huffman tables, by their segment lengths: encoders produce 200 bytes a scan at most. */
export const jpegTableBytesMax = 16 * 1024;

/**
 * CPU milliseconds of a worker for one frame or sound packet of a source up to 1920 x 1080; larger sources get more in
 * proportion to their area. Beyond it the worker is abandoned. Where the system does not report a thread's CPU time, elapsed
 * time counts, with `elapsedPerTaskTime` times the limit: a loaded machine also does other work.
 */
export const taskTimeMsMax = 250;
export const elapsedPerTaskTime = 8;
/** Abandoned workers of a process that still run; one more restarts the process. */
export const abandonedWorkersMax = 8;
/**
 * After an overdue frame, further frames of its call are refused for this long; the third one ends the call. After the eighth of
 * one application within that time, frames of all its calls are refused, longer by this for each further one: by then the
 * abandoned workers also deprive its other calls of pictures.
 */
export const overdueRefusalMs = 10_000;
export const overdueFramesMax = 3;
export const overdueFramesOfApplicationMax = 8;
/** Sessions whose overdue frames are remembered, even if their legs reconnect; the oldest is forgotten. */
export const overdueSessionsMax = 4096;

/** Share of a worker's time that the pictures of one direction may use while the worker is overbooked, and burst in milliseconds. */
export const pictureShareMax = 0.25;
export const pictureBurstMs = 1000;

/** JavaScript heap of a media process and of each transcoding thread, excluding frames; beyond it the process or thread dies. */
export const mediaHeapMebibytesMax = 1024;
/**
 * Half of V8's young generation in a media process. The memory of received frames is freed with it; when 64 MiB of them wait for that, V8
 * collects the whole heap. By default, up to 16 MiB, that pauses the relay for 10 ms after every 400 pictures of MJPEG.
 */
export const mediaSemiSpaceMebibytesMax = 2;
/**
 * Growth of a heap in percent of its live memory, after which V8 collects it as a whole. Received frames count until the young generation
 * is collected. V8's own limit, 10 MiB, leads to a pause of 10 ms or more after every 150 to 250 pictures of MJPEG.
 */
export const mediaHeapGrowthPercent = 100;
export const transcoderHeapMebibytesMax = 256;
/** Writable memory of a media process that is a child, as a share of the memory of the machine or container. */
export const mediaMemoryShareMax = 0.5;

/**
 * Limits of the work that one frame may cost its decoder, of the time that workers spend, and of the memory of media processes. A
 * frame beyond the limits of work is dropped as undecodable, before a decoder gets it. Source: calls-and-media.md, The media
 * process.
 */

/** NAL units of an access unit: a message of 1 MiB in slices of 1200 bytes or a little less. */
export const accessUnitPartsMax = 1280;
/**
 * Parameter sets of an access unit, and of a stream that are remembered, of which the one repeated least lately is forgotten: a
 * decoder makes tables of the picture's size for each.
 */
export const parameterSetsMax = 32;
/** A longer set is decoded, but not given to the next decoder of the stream; encoders make 1 KiB at most. */
export const parameterSetBytesMax = 4096;
/**
 * A slice may cost all blocks of 16 x 16 from its first one to the end of the picture. All slices of an access unit may cost so many
 * times the picture, as 80 slices of equal size do, a small picture counted as one of 1920 x 1088; and so many blocks more for
 * each byte, so that slices of 1000 bytes are never too many.
 */
export const sliceAreasMax = 40;
export const sliceAreaBlocksMin = 8160;
export const sliceBlocksPerByte = 4;
/** Blocks of 16 x 16 in the pictures that a decoder keeps for reference: as many as level 5.1 of H.265 allows, 80 MB. */
export const referenceBlocksMax = 208_896;

/** Scans of a JPEG: each may pass over the whole picture. Encoders make 15 at most. */
export const jpegScansMax = 32;
/** Frame headers, those of thumbnails and bytes that look like one included: each clears the memory of a picture. */
export const jpegFrameHeadersMax = 8;
/** Bytes of Huffman tables, by the lengths of their segments: encoders make 200 bytes a scan at most. */
export const jpegTableBytesMax = 16 * 1024;

/**
 * CPU time, in ms, of a worker for one frame, or one packet of sound, of a source up to 1920 x 1080; larger sources have more by
 * their area. Beyond it the worker is abandoned. Where the system tells no CPU time of a thread, it counts elapsed time, and
 * allows `elapsedPerTaskTime` times that: a loaded machine works on other things as well.
 */
export const taskTimeMsMax = 250;
export const elapsedPerTaskTime = 8;
/** Workers of a process that were abandoned and still run; one more, and the process is restarted. */
export const abandonedWorkersMax = 8;
/**
 * After an overdue frame those of its call are refused for so long, and with the third one its call ends. With the eighth of one
 * application within that time those of all of its calls are refused, by so much longer for each further one: by then the
 * workers that it costs keep its own other calls from pictures as well.
 */
export const overdueRefusalMs = 10_000;
export const overdueFramesMax = 3;
export const overdueFramesOfApplicationMax = 8;
/** Sessions whose overdue frames are remembered, also when their legs come again; the oldest is forgotten. */
export const overdueSessionsMax = 4096;

/**
 * Share of a worker's time that the pictures of one direction may take while the worker's calls want more than there is, and
 * milliseconds of it at once.
 */
export const pictureShareMax = 0.25;
export const pictureBurstMs = 1000;

/** JavaScript heap of a media process, and of each of its transcoding threads; frames are not in it. Beyond it either ends. */
export const mediaHeapMebibytesMax = 1024;
export const transcoderHeapMebibytesMax = 256;
/** Writable memory of a media process that is a child, as a share of the memory of the machine or container. */
export const mediaMemoryShareMax = 0.5;

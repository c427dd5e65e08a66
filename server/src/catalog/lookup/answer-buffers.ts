/** Larger sizes are powers of two. Smaller buffers are cheap, so they are not reused. */
const SMALLEST_BYTES = 16 * 1024;
const LARGEST_BYTES = 4 * 1024 * 1024;
/** How many idle buffers of each size are retained, for the concurrent answers of a busy server. */
const IDLE = 16;

/**
 * Buffers for answers. They are reused when their answer is sent, because the kernel must first clear a fresh buffer
 * of 130 KB page by page, which took longer than filling it.
 */
export function createAnswerBuffers() {
  const free = new Map<number, Buffer[]>();
  return {
    /** @returns a buffer of at least this size; `release` returns it */
    take(bytes: number): { buffer: Buffer; release: () => void } {
      if (bytes < SMALLEST_BYTES || bytes > LARGEST_BYTES)
        return { buffer: Buffer.allocUnsafe(bytes), release() {} };
      const size = 2 ** Math.ceil(Math.log2(bytes));
      const idle = free.getOrInsert(size, []);
      const buffer = idle.pop() ?? Buffer.allocUnsafeSlow(size);
      let isHeld = true;
      return {
        buffer,
        release() {
          if (isHeld && idle.length < IDLE) idle.push(buffer);
          isHeld = false;
        },
      };
    },
  };
}

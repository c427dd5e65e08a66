<?php

declare(strict_types=1);

namespace Relata;

/** The result of a full update. */
final class FullUpdateResult
{
    /** @param array<string, mixed>|null $task the ended commit; null if confirm returned false */
    public function __construct(
        public readonly int $fullUpdateId,
        public readonly int $sent,
        public readonly ?array $task,
    ) {
    }
}

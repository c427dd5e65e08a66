<?php

declare(strict_types=1);

namespace Relata;

/** What became of a full update. */
final class FullUpdateResult
{
    /** @param array<string, mixed>|null $task the commit, ended; null where confirm said no */
    public function __construct(
        public readonly int $fullUpdateId,
        public readonly int $sent,
        public readonly ?array $task,
    ) {
    }
}

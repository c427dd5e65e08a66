<?php

declare(strict_types=1);

namespace Relata;

use RuntimeException;
use Throwable;

/** A refusal of the service, a failed connection, or a task that did not finish. */
final class RelataException extends RuntimeException
{
    /**
     * @param int|null $status the HTTP status; null without an answer
     * @param string|null $reason one code of a closed list, such as delete_guard (docs/interface §7.7)
     * @param list<string> $details further details of the service
     * @param list<array<string, mixed>> $validation one element for each invalid product of a body (docs/interface §7.3)
     * @param string|null $requestId the log of the service has the same id
     * @param int|null $retryAfterSeconds from Retry-After
     * @param array<string, mixed>|null $task the task that was waited for, if it failed or was cancelled
     */
    private function __construct(
        string $message,
        public readonly ?int $status = null,
        public readonly ?string $reason = null,
        public readonly array $details = [],
        public readonly array $validation = [],
        public readonly ?string $requestId = null,
        public readonly ?int $retryAfterSeconds = null,
        public readonly ?array $task = null,
        ?Throwable $previous = null,
    ) {
        parent::__construct($message, $status ?? 0, $previous);
    }

    /** A proxy may also answer, in other forms. */
    public static function refused(int $status, string $text, ?int $retryAfterSeconds): self
    {
        $body = json_decode($text, true);
        $body = is_array($body) ? $body : [];

        return new self(
            $body['message'] ?? "The service answered $status",
            status: $status,
            reason: $body['reason'] ?? null,
            details: $body['details'] ?? [],
            validation: $body['validation'] ?? [],
            requestId: $body['requestId'] ?? null,
            retryAfterSeconds: $retryAfterSeconds,
        );
    }

    public static function unreachable(Throwable $cause): self
    {
        return new self("The service cannot be reached: {$cause->getMessage()}", previous: $cause);
    }

    public static function unusable(string $message, Throwable $cause): self
    {
        return new self("$message: {$cause->getMessage()}", previous: $cause);
    }

    /** @param array<string, mixed> $task a task that FAILED or was CANCELLED */
    public static function ofTask(array $task): self
    {
        $error = $task['error'] ?? [];

        return new self(
            $error['message'] ?? "The task ended {$task['taskStatus']}",
            reason: $error['code'] ?? null,
            details: $error['details'] ?? [],
            task: $task,
        );
    }

    /** Whether the same request may succeed a moment later (docs/interface §7.4, §5.3). */
    public function isPassing(): bool
    {
        return $this->task === null
            && ($this->status === null || in_array($this->status, [408, 429, 502, 503, 504], true));
    }
}
